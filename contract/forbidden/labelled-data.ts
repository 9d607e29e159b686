import type { ForbiddenKind } from './kinds.ts';
import type { FoldedText } from './folded-text.ts';

/** Finds texts worth the patterns below; literals only, so one pass. */
const LABEL =
  /cv[cvn]|security code|passw|passphrase|pwd|account|acct|보안 ?코드|비밀번호|비번|패스워드|계좌/i;

/** Each pattern repeats only bounded pieces, so its cost per position is bounded. */
const PATTERNS: readonly (readonly [ForbiddenKind, RegExp])[] = [
  [
    'SECURITY_CODE',
    /(?<![a-z])(?:cv[cvn]2?|security code|보안 ?코드)(?: ?(?:code|number|no\.?|번호))?(?: is|[은는])?[ :=#-]{0,3}[0-9]{3,4}(?![0-9a-z.%])/i,
  ],
  ['PASSWORD', /(?<![a-z])(?:password|passwd|passphrase|pwd)(?: ?= ?|:)[^\s&*=:]/i],
  ['PASSWORD', /(?:비밀번호|비번|패스워드)(?:[은는])?[ :=]{1,3}[!-)+-~]{4}/],
  [
    'ACCOUNT_NUMBER',
    /(?<![a-z])(?:account|acct\.?) ?(?:number|num|no\.?|#)(?: is)?[ :=#]{0,3}[0-9](?:[ -]?[0-9]){6,19}(?![0-9])/i,
  ],
  ['ACCOUNT_NUMBER', /계좌 ?(?:번호)?(?:[은는])?[ :=]{0,3}[0-9](?:[ -]?[0-9]){6,19}(?![0-9])/],
];

/**
 * Finds what only a label before it gives away, in free text: `CVC: 123`, `password=…`, `계좌번호 110-123-456789`.
 * A help, not a promise: prose has more ways to say it than patterns have to look.
 *
 * @param folded the same text folded: it says cheaply that no label can be there
 */
export function labelledKind(text: string, folded: FoldedText): ForbiddenKind | undefined {
  if (!folded.mayLabel || text.length < 6 || !LABEL.test(text)) return undefined;
  return PATTERNS.find(([, pattern]) => pattern.test(text))?.[0];
}
