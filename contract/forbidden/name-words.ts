/** Longer names are judged by their end, which is where a name says what it is. */
const LONGEST_NAME = 96;

const LOWER = 1;
const UPPER = 2;
const DIGIT = 4;
const SCRIPT = 8;

/** What kind of character each UTF-16 unit is: 0 for punctuation and blanks. A table, since this is asked per character. */
const SORTS = Uint8Array.from({ length: 0x10000 }, (_, code) => {
  if (code >= 0x61 && code <= 0x7a) return LOWER;
  if (code >= 0x41 && code <= 0x5a) return UPPER;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  return code >= 0x80 && /[\p{L}\p{N}]/u.test(String.fromCharCode(code)) ? SCRIPT : 0;
});

/** The words of one name, valid until the next {@link splitName}: only those asked for are cut out. */
export interface NameWords {
  readonly count: number;
  /** A word in lower case and singular (`CARDNumbers` → card, number); '' where there is none. */
  word(index: number): string;
  /** Whether a word is digits throughout. */
  isNumber(index: number): boolean;
}

/** Reused between calls: a name of 64 characters may have 32 words, and its judgement needs the last few. */
const shared = {
  name: '',
  count: 0,
  starts: [] as number[],
  ends: [] as number[],
  sorts: [] as number[],
  words: [] as (string | undefined)[],
  word(index: number): string {
    if (index < 0 || index >= this.count) return '';
    return (this.words[index] ??= singular(
      this.name.slice(this.starts[index], this.ends[index]).toLowerCase(),
    ));
  },
  isNumber(index: number): boolean {
    return this.sorts[index] === DIGIT;
  },
};

/**
 * Splits a key's name at punctuation, camelCase humps and changes between Latin and other scripts.
 *
 * @returns a shared object, valid until the next call; of a very long name it has the last words
 */
export function splitName(key: string): NameWords {
  const end = key.slice(-LONGEST_NAME);
  const name = /[\u0080-\uffff]/.test(end) ? end.normalize('NFKC') : end;
  const { length } = name;
  let count = 0;
  let start = 0;
  let before = 0;
  let inWord = 0;
  let sort = length > 0 ? (SORTS[name.charCodeAt(0)] as number) : 0;
  for (let i = 0; i <= length; i++) {
    const next = i + 1 < length ? (SORTS[name.charCodeAt(i + 1)] as number) : 0;
    if (sort !== before || sort === UPPER) {
      const isHump = sort === UPPER && (before === LOWER || before === DIGIT || next === LOWER);
      if (before === 0) {
        start = i;
      } else if (sort === 0 || isHump || (sort === SCRIPT) !== (before === SCRIPT)) {
        shared.starts[count] = start;
        shared.ends[count] = i;
        shared.words[count] = undefined;
        shared.sorts[count++] = inWord;
        start = i;
        inWord = 0;
      }
    }
    inWord |= sort;
    before = sort;
    sort = next;
  }
  shared.name = name;
  shared.count = count;
  return shared;
}

/** Words in -s that are no plurals. */
const SINGULAR_ENDING = /(?:ss|us|is|os|has)$/;

function singular(word: string): string {
  if (word.charCodeAt(word.length - 1) !== 0x73 || word.length < 3) return word;
  if (word.endsWith('sses')) return word.slice(0, -2);
  return SINGULAR_ENDING.test(word) ? word : word.slice(0, -1);
}
