import { hash, randomBytes, randomInt } from 'node:crypto';

/** Which traffic a key is for. */
export type KeyEnvironment = 'production' | 'sandbox';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX: Record<KeyEnvironment, string> = { production: 'prod', sandbox: 'sbx' };

/** Characters that hold any 32 bytes in base 62: ceil(256 / log2(62)). */
const SECRET_LENGTH = 43;
const ID_LENGTH = 8;

/** What every API key looks like: `trk_<prod|sbx>_<8 characters>_<43 characters>`. */
export const API_KEY_PATTERN = /^trk_(prod|sbx)_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}$/;

/** A new key: shown once as `apiKey`; `keyId` names it afterwards, `hash` is what is stored. */
export interface GeneratedKey {
  readonly apiKey: string;
  readonly keyId: string;
  readonly hash: Buffer;
}

/** Makes a key of 256 random bits. The id beside them is no secret. */
export function generateApiKey(environment: KeyEnvironment): GeneratedKey {
  const { id: keyId, secret } = randomKeyParts();
  const apiKey = `trk_${PREFIX[environment]}_${keyId}_${secret}`;
  return { apiKey, keyId, hash: hashApiKey(apiKey) };
}

/** What keys and tokens are made of: an id of 8 characters to name one by, and 256 random bits in 43 characters. */
export function randomKeyParts(): { readonly id: string; readonly secret: string } {
  let id = '';
  while (id.length < ID_LENGTH) id += ALPHABET.charAt(randomInt(62));
  return { id, secret: base62(randomBytes(32)) };
}

/** SHA-256 of a key, 32 bytes. A slow hash would protect nothing here: 256 random bits cannot be guessed. */
export function hashApiKey(apiKey: string): Buffer {
  return hash('sha256', apiKey, 'buffer');
}

/** What people see of a key after its first showing: enough to tell it from others, nothing to call with. */
export function maskedKey(environment: KeyEnvironment, keyId: string): string {
  return `trk_${PREFIX[environment]}_${keyId}_…`;
}

function base62(bytes: Buffer): string {
  let value = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  while (text.length < SECRET_LENGTH) {
    text = ALPHABET.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text;
}
