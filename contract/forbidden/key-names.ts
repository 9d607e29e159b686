import { isDigit } from './folded-text.ts';
import { wordsOf } from './name-words.ts';
import type { ForbiddenKind } from './kinds.ts';

/** What a key says about its values, where that changes how their content is read. */
export interface KeyContext {
  readonly isVersion: boolean;
  readonly isUserAgent: boolean;
  readonly isPhone: boolean;
  readonly isBarcode: boolean;
}

/** Nothing is known about the place of a value. */
export const NO_CONTEXT: KeyContext = {
  isVersion: false,
  isUserAgent: false,
  isPhone: false,
  isBarcode: false,
};

/** What a key's name gives away. */
export interface KeyName extends KeyContext {
  /** The key names something forbidden, whatever its value looks like. */
  readonly kind: ForbiddenKind | undefined;
  /** The key names an account: forbidden where the value is an account's number. */
  readonly isAccount: boolean;
  /** `number`, `value` and the like: read together with the parent's key (`card` → `number`). */
  readonly isGeneric: boolean;
  /** Letters and underscores only: there is no content to scan in the name itself. */
  readonly isPlain: boolean;
}

/** Names written together, by kind; a key is matched by its last words (`buyerCardNumber`, `buyer_card_no`). */
const PHRASES = phrases({
  CARD_NUMBER: `cardnumber cardno cardnum cardnr cardnbr cardpan pan pannumber panno fpan primaryaccountnumber ccnumber
    ccno ccnum ccnr creditcardno creditcardnum debitcardno debitcardnum 카드번호`,
  SECURITY_CODE: `cvc cvv cvn cvd csc icvv dcvv cvccode cvvcode cvncode cvcnumber cvvnumber cvnnumber cvcno cvvno cvcnum
    cvvnum securitycode cardverificationvalue cardverificationcode cardverificationnumber cvc번호 cvv번호 보안코드
    카드보안번호`,
  TRACK_DATA: `track1 track2 track3 trackone tracktwo trackdata track1data track2data track2equivalentdata magstripe
    magstripedata magneticstripe magneticstripedata`,
  ACCOUNT_NUMBER: `accountnumber accountno accountnum accountnr accountnbr acctnumber acctno acctnum acctnbr accnumber
    accno accnum iban ibannumber bban 계좌번호 통장번호`,
  PASSWORD: `password passwd pwd pw passphrase passcode userpass loginpass pin pinnumber pinno pinblock cardpin 비밀번호 비번
    패스워드 암호`,
  IP_ADDRESS: `ip ipaddress ipaddr ipv4 ipv6 ipv4address ipv6address ipv4addr ipv6addr clientip userip remoteip sourceip
    srcip customerip buyerip realip originip loginip clientipaddress clientipaddr useripaddress remoteipaddress
    sourceipaddress remoteaddr remoteaddress xforwardedfor forwardedfor 아이피 아이피주소 ip주소`,
});

/** Long enough to be told from the end of a name written in one piece: `buyercardnumber`, `신용카드번호`. */
const ENDINGS =
  `primaryaccountnumber cardnumber accountnumber password passwd securitycode 카드번호 카드보안코드 보안코드 계좌번호 통장번호
  비밀번호 패스워드 아이피주소`.split(/\s+/);

const ACCOUNTS = new Set([
  'account',
  'acct',
  'bankaccount',
  'virtualaccount',
  '계좌',
  '통장',
  '가상계좌',
]);

/** A word before the name that makes its value a derived one, a flag, a count, or something else altogether. */
const DERIVED =
  words(`has is masked mask hashed hash tokenized tokenised token truncated redacted last last4 first first6 bin
  count cnt unique distinct total of failed wrong invalid incorrect forgot forgotten membership member loyalty point reward id identity sim library per by
  마스킹 해시 토큰`);
const DERIVED_BEGINNING = /^(?:has|masked|hashed|tokeni[sz]ed|마스킹)/;

/** Words after the name that leave the value what it is. */
const NEUTRAL = words(
  'raw plain plaintext value text string str full clear input field encrypted enc 값',
);

const IS_GENERIC = 1;
const IS_VERSION = 2;
const IS_AGENT = 4;
const IS_PHONE = 8;
const IS_BARCODE = 16;

/** What single words of a name say, as bits: one look-up per word. */
const MEANINGS = new Map<string, number>();
for (const [bit, text] of [
  [
    IS_GENERIC,
    'number no num nr nbr value raw plain text code digit full address addr data content 번호 주소 값',
  ],
  [IS_VERSION, 'version ver build firmware fw release revision rev semver sdk oid 버전'],
  [IS_AGENT, 'ua useragent agent browser os platform brand brands'],
  [
    IS_PHONE,
    'phone tel telephone mobile msisdn fax cellphone phonenumber 전화번호 휴대폰 휴대폰번호 연락처',
  ],
  [IS_BARCODE, 'gtin gtin13 ean ean13 barcode upc isbn isbn13 jan sku 바코드'],
] as const) {
  for (const word of words(text)) MEANINGS.set(word, (MEANINGS.get(word) ?? 0) | bit);
}

/** Names seen before; only plain ones, so that no caller's data is kept, and only so many. */
const seen = new Map<string, KeyName>();
const MOST_SEEN = 2000;

/** Judges a key by its name, in any case and style, English or Korean: `cardNumber`, `CARD_NO`, `카드 번호`. */
export function judgeKey(key: string): KeyName {
  const known = seen.get(key);
  if (known !== undefined) return known;
  const judged = judge(key);
  if (judged.isPlain && seen.size < MOST_SEEN) seen.set(key, judged);
  return judged;
}

function judge(key: string): KeyName {
  const parts = wordsOf(key);
  const end = endWithout(parts);
  const bare = end === parts.length ? parts : parts.slice(0, end);
  let meanings = 0;
  for (const part of parts) meanings |= MEANINGS.get(part) ?? 0;
  return {
    kind: kindOf(parts) ?? (bare === parts ? undefined : kindOf(bare)),
    isAccount: ACCOUNTS.has(bare.at(-1) ?? ''),
    isGeneric: parts.length === 1 && (meanings & IS_GENERIC) !== 0,
    isPlain: /^[A-Za-z_]{1,40}$/.test(key),
    isVersion: (meanings & IS_VERSION) !== 0,
    isUserAgent: (meanings & IS_AGENT) !== 0,
    isPhone: (meanings & IS_PHONE) !== 0,
    isBarcode: (meanings & IS_BARCODE) !== 0,
  };
}

/** Looks up the last word, the last two, three, four together: the longest name wins, numbering at its end left out. */
function kindOf(parts: readonly string[]): ForbiddenKind | undefined {
  const last = parts.at(-1) ?? '';
  const bareLast = withoutNumbering(last);
  let before = '';
  let found: ForbiddenKind | undefined;
  let words = 0;
  for (let count = 1; count <= 4 && count <= parts.length; count++) {
    if (count > 1) before = parts[parts.length - count] + before;
    const kind =
      PHRASES.get(before + last) ??
      (bareLast === last ? undefined : PHRASES.get(before + bareLast));
    if (kind !== undefined) {
      found = kind;
      words = count;
    }
  }
  if (found === undefined) {
    if (last.length < 4 || DERIVED_BEGINNING.test(last)) return undefined;
    const ending = ENDINGS.find((end) => last.endsWith(end));
    if (ending === undefined) return undefined;
    found = PHRASES.get(ending);
    words = 1;
  }
  return isDerived(parts, words) ? undefined : found;
}

/** Whether a word before the last `count` ones makes the value a derived one. */
function isDerived(parts: readonly string[], count: number): boolean {
  for (let i = 0; i < parts.length - count; i++) if (DERIVED.has(parts[i] as string)) return true;
  return false;
}

function withoutNumbering(name: string): string {
  let end = name.length;
  while (end > 0 && isDigit(name.charCodeAt(end - 1))) end--;
  return end === name.length ? name : name.slice(0, end);
}

/** Where a name ends once neutral words and numbering are left out: `card_number_2`, `password_plain`. */
function endWithout(parts: readonly string[]): number {
  let end = parts.length;
  while (end > 1 && isNeutral(parts[end - 1] as string)) end--;
  return end;
}

function isNeutral(word: string): boolean {
  return NEUTRAL.has(word) || /^[0-9]+$/.test(word);
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

function phrases(names: Record<ForbiddenKind, string>): ReadonlyMap<string, ForbiddenKind> {
  const kinds = Object.entries(names) as [ForbiddenKind, string][];
  return new Map(
    kinds.flatMap(([kind, text]) => [...words(text)].map((name) => [name, kind] as const)),
  );
}
