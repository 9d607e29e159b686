import { isDigit } from './folded-text.ts';
import { type NameWords, splitName } from './name-words.ts';
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

/** Every way a name of PHRASES may end, and its kind where that end is a name itself. */
const TAILS = new Map<string, ForbiddenKind | 'NONE'>();
for (const name of PHRASES.keys()) {
  for (let at = 0; at <= name.length; at++) {
    TAILS.set(name.slice(at), PHRASES.get(name.slice(at)) ?? 'NONE');
  }
}

const LONGEST_TAIL = Math.max(...[...TAILS.keys()].map((tail) => tail.length));

/** Endings by their last four characters, which is what the shortest has. */
const ENDINGS_BY_TAIL = new Map(
  ENDINGS.map((ending) => [
    ending.slice(-4),
    ENDINGS.filter((other) => other.endsWith(ending.slice(-4))),
  ]),
);

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
const LONGEST_PLAIN = 40;

/** Judges a key by its name, in any case and style, English or Korean: `cardNumber`, `CARD_NO`, `카드 번호`. */
export function judgeKey(key: string): KeyName {
  const known = key.length > LONGEST_PLAIN ? undefined : seen.get(key);
  if (known !== undefined) return known;
  const judged = judge(key);
  if (judged.isPlain && seen.size < MOST_SEEN) seen.set(key, judged);
  return judged;
}

function judge(key: string): KeyName {
  const name = splitName(key);
  const end = endWithout(name);
  return new JudgedKey(
    key,
    kindOf(name, name.count) ?? (end === name.count ? undefined : kindOf(name, end)),
    ACCOUNTS.has(name.word(end - 1)),
    name.count === 1 && (meaningOf(name.word(0)) & IS_GENERIC) !== 0,
  );
}

/**
 * What a key says about the content of its values is asked for only once that content looks like a card or an address:
 * most keys never need it, and a hostile body has 4,096 long ones.
 */
class JudgedKey implements KeyName {
  readonly kind: ForbiddenKind | undefined;
  readonly isAccount: boolean;
  readonly isGeneric: boolean;
  readonly isPlain: boolean;
  readonly #key: string;
  #meanings: number | undefined;

  constructor(
    key: string,
    kind: ForbiddenKind | undefined,
    isAccount: boolean,
    isGeneric: boolean,
  ) {
    this.#key = key;
    this.kind = kind;
    this.isAccount = isAccount;
    this.isGeneric = isGeneric;
    this.isPlain = key.length <= LONGEST_PLAIN && /^[A-Za-z_]+$/.test(key);
  }

  get isVersion(): boolean {
    return this.#means(IS_VERSION);
  }

  get isUserAgent(): boolean {
    return this.#means(IS_AGENT);
  }

  get isPhone(): boolean {
    return this.#means(IS_PHONE);
  }

  get isBarcode(): boolean {
    return this.#means(IS_BARCODE);
  }

  #means(bit: number): boolean {
    this.#meanings ??= meaningsOf(splitName(this.#key));
    return (this.#meanings & bit) !== 0;
  }
}

function meaningsOf(name: NameWords): number {
  let meanings = 0;
  for (let i = 0; i < name.count; i++) meanings |= meaningOf(name.word(i));
  return meanings;
}

function meaningOf(word: string): number {
  return MEANINGS.get(word) ?? 0;
}

/**
 * Looks up the last of `end` words, the last two, three, four together: the longest name wins, numbering at its end
 * left out. Stops where no name ends so: for most keys after the last word.
 */
function kindOf(name: NameWords, end: number): ForbiddenKind | undefined {
  const last = name.word(end - 1);
  const bareLast = withoutNumbering(last);
  let whole: string | undefined = last;
  let bare: string | undefined = bareLast === last ? undefined : bareLast;
  let found: ForbiddenKind | undefined;
  let words = 0;
  for (let count = 1; count <= 4 && count <= end; count++) {
    if (count > 1) {
      const word = name.word(end - count);
      whole = whole === undefined ? undefined : word + whole;
      bare = bare === undefined ? undefined : word + bare;
    }
    const kindOfWhole = whole === undefined ? undefined : tailOf(whole);
    const kindOfBare = bare === undefined ? undefined : tailOf(bare);
    if (kindOfWhole === undefined) whole = undefined;
    if (kindOfBare === undefined) bare = undefined;
    if (whole === undefined && bare === undefined) break;
    const kind = kindOfWhole === undefined || kindOfWhole === 'NONE' ? kindOfBare : kindOfWhole;
    if (kind !== undefined && kind !== 'NONE') {
      found = kind;
      words = count;
    }
  }
  if (found === undefined) {
    if (last.length < 4) return undefined;
    const ending = ENDINGS_BY_TAIL.get(last.slice(-4))?.find((text) => last.endsWith(text));
    if (ending === undefined || DERIVED_BEGINNING.test(last)) return undefined;
    found = PHRASES.get(ending);
    words = 1;
  }
  return isDerived(name, end - words) ? undefined : found;
}

/** Too long a text is told without hashing it: of a name's words, numbers are the longest. */
function tailOf(text: string): ForbiddenKind | 'NONE' | undefined {
  return text.length <= LONGEST_TAIL ? TAILS.get(text) : undefined;
}

/** Whether one of the first `count` words makes the value a derived one. */
function isDerived(name: NameWords, count: number): boolean {
  for (let i = 0; i < count; i++) if (DERIVED.has(name.word(i))) return true;
  return false;
}

function withoutNumbering(name: string): string {
  let end = name.length;
  while (end > 0 && isDigit(name.charCodeAt(end - 1))) end--;
  return end === name.length ? name : name.slice(0, end);
}

/** How many words are left without neutral ones and numbering at the end: `card_number_2`, `password_plain`. */
function endWithout(name: NameWords): number {
  let end = name.count;
  while (end > 1 && (name.isNumber(end - 1) || NEUTRAL.has(name.word(end - 1)))) end--;
  return end;
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
