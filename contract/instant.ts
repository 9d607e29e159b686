const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MS_PER_DAY = 86_400_000;
/** 0001-01-01T00:00:00.000Z and the first instant of the year 10000: what is stored lies in between. */
const FIRST_MS = daysFromEpoch(1, 1, 1) * MS_PER_DAY;
const END_MS = daysFromEpoch(10_000, 1, 1) * MS_PER_DAY;

/**
 * Reads an ISO 8601 date-time in the profile of RFC 3339, section 5.6.
 *
 * Accepted: `YYYY-MM-DDThh:mm:ss`, an optional fraction of any length, and a required offset (`Z` or `±hh:mm`;
 * `-00:00` is UTC). `t` and `z` may be lower case, as the RFC says. Refused: a blank instead of `T`, a comma
 * before the fraction, offsets without colon, days that the calendar lacks, 24:00:00, and leap seconds (`:60`):
 * none of our instants can hold one. After conversion to UTC the year must lie in 0001..9999.
 *
 * @returns milliseconds since 1970-01-01T00:00:00Z, finer fractions cut towards the past; undefined if refused
 */
export function parseInstant(text: string): number | undefined {
  const length = text.length;
  if (length < 20) return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month))
    return undefined;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
    return undefined;
  if (text[4] !== '-' || text[7] !== '-' || text[13] !== ':' || text[16] !== ':') return undefined;
  if (text[10] !== 'T' && text[10] !== 't') return undefined;

  let at = 19;
  let milliseconds = 0;
  if (text[at] === '.') {
    const start = ++at;
    for (let weight = 100; isDigit(text.charCodeAt(at)); at++, weight /= 10) {
      if (at < start + 3) milliseconds += (text.charCodeAt(at) - 48) * weight;
    }
    if (at === start) return undefined;
  }
  const offset = offsetMinutes(text, at);
  if (offset === undefined) return undefined;

  const days = daysFromEpoch(year, month, day);
  const instant =
    days * MS_PER_DAY + ((hour * 60 + minute - offset) * 60 + second) * 1000 + milliseconds;
  return instant >= FIRST_MS && instant < END_MS ? instant : undefined;
}

/** Whether {@link parseInstant} would read the text. */
export function isInstant(text: string): boolean {
  return parseInstant(text) !== undefined;
}

/** Minutes east of UTC, from the offset that must fill the rest of the text. */
function offsetMinutes(text: string, at: number): number | undefined {
  const sign = text[at];
  if (sign === 'Z' || sign === 'z') return at + 1 === text.length ? 0 : undefined;
  if ((sign !== '+' && sign !== '-') || text.length !== at + 6 || text[at + 3] !== ':')
    return undefined;
  const hours = digits(text, at + 1, at + 3);
  const minutes = digits(text, at + 4, at + 6);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return undefined;
  return sign === '+' ? hours * 60 + minutes : -(hours * 60 + minutes);
}

/** The number written in text[from, to), or -1 where a character is no ASCII digit. */
function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    if (!isDigit(code)) return -1;
    value = value * 10 + code - 48;
  }
  return value;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function daysInMonth(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
}

/**
 * Days from 1970-01-01 in the proleptic Gregorian calendar. Not Date.UTC, which reads the years 0..99 as 19xx.
 * Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
 */
function daysFromEpoch(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
