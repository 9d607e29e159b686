import { isDigit } from './folded-text.ts';

/** Longer names are judged by their end, which is where a name says what it is. */
const LONGEST_NAME = 96;

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SCRIPT = 4;

/**
 * Splits a key's name at punctuation, camelCase humps and changes between Latin and other scripts.
 *
 * @returns its words in lower case and singular (`CARDNumbers` → card, number); of a very long name the last ones
 */
export function wordsOf(key: string): string[] {
  const end = key.slice(-LONGEST_NAME);
  const name = /[\u0080-\uffff]/.test(end) ? end.normalize('NFKC') : end;
  const found: string[] = [];
  let start = 0;
  let before = 0;
  let sort = sortOf(name, 0);
  for (let i = 0; i <= name.length; i++) {
    const next = i < name.length ? sortOf(name, i + 1) : 0;
    const isHump = sort === UPPER && (before === LOWER || before === DIGIT || next === LOWER);
    const isCut =
      before !== 0 && (sort === 0 || isHump || (sort === SCRIPT) !== (before === SCRIPT));
    if (isCut) found.push(singular(name.slice(start, i).toLowerCase()));
    if (isCut || before === 0) start = i;
    before = sort;
    sort = next;
  }
  return found;
}

/** What kind of character stands at `at`: 0 for punctuation, blanks and the end. */
function sortOf(name: string, at: number): number {
  const code = name.charCodeAt(at);
  if (code >= 0x61 && code <= 0x7a) return LOWER;
  if (code >= 0x41 && code <= 0x5a) return UPPER;
  if (isDigit(code)) return DIGIT;
  return code >= 0x80 && /[\p{L}\p{N}]/u.test(name[at] as string) ? SCRIPT : 0;
}

/** Words in -s that are no plurals. */
const SINGULAR_ENDING = /(?:ss|us|is|os|has)$/;

function singular(word: string): string {
  if (word.charCodeAt(word.length - 1) !== 0x73 || word.length < 3) return word;
  if (word.endsWith('sses')) return word.slice(0, -2);
  return SINGULAR_ENDING.test(word) ? word : word.slice(0, -1);
}
