import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** One key of SECRETS_KEY: 32 bytes, and the name under which rows say that it sealed them. */
export interface SecretsKey {
  readonly id: string;
  readonly key: Buffer;
}

/** A secret as it is stored: 12 bytes nonce, ciphertext, 16 bytes tag. */
export interface SealedSecret {
  readonly keyId: string;
  readonly sealed: Buffer;
}

/** A stored secret cannot be opened: its key is not in SECRETS_KEY, or is another one under the same name. */
export class SecretUnreadable extends Error {
  override name = 'SecretUnreadable';
  readonly keyId: string;

  constructor(keyId: string) {
    super('a stored secret cannot be opened with SECRETS_KEY');
    this.keyId = keyId;
  }
}

/** Seals and opens secrets with AES-256-GCM. */
export interface SecretBox {
  /** The key that seals from now on. */
  readonly currentKeyId: string;
  /** All keys that open, the sealing one first. */
  readonly keyIds: readonly string[];
  /** @param context names the row, such as `webhook_secret/7`: a sealed text moved to another row does not open there */
  seal(secret: string, context: string): SealedSecret;
  /** @throws SecretUnreadable */
  open(stored: SealedSecret, context: string): string;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Builds a box from keys of which the first seals and all open. */
export function createSecretBox(keys: readonly SecretsKey[]): SecretBox {
  const [current] = keys;
  if (current === undefined) throw new RangeError('a secret box needs a key');
  const byId = new Map(keys.map(({ id, key }) => [id, key]));
  return {
    currentKeyId: current.id,
    keyIds: keys.map(({ id }) => id),
    seal(secret, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, current.key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return { keyId: current.id, sealed: Buffer.concat([nonce, text, cipher.getAuthTag()]) };
    },
    open({ keyId, sealed }, context) {
      const key = byId.get(keyId);
      if (key === undefined || sealed.length < NONCE_BYTES + TAG_BYTES) {
        throw new SecretUnreadable(keyId);
      }
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), options);
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
      try {
        const text = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString('utf8');
      } catch {
        throw new SecretUnreadable(keyId);
      }
    },
  };
}
