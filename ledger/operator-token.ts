import { hash } from 'node:crypto';
import { randomKeyParts } from './api-key.ts';

/** What every operator's token looks like: `trk_op_<8 characters>_<43 characters>`. */
export const OPERATOR_TOKEN_PATTERN = /^trk_op_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}$/;

/** A new token: shown once as `token`; `tokenId` names it afterwards, `hash` is what is stored. */
export interface GeneratedToken {
  readonly token: string;
  readonly tokenId: string;
  readonly hash: Buffer;
}

/** Makes a token of 256 random bits. The id beside them is no secret. */
export function generateOperatorToken(): GeneratedToken {
  const { id, secret } = randomKeyParts();
  const token = `trk_op_${id}_${secret}`;
  return { token, tokenId: id, hash: hashOperatorToken(token) };
}

/** SHA-256 of a token, 32 bytes: 256 random bits cannot be guessed, so a slow hash would protect nothing. */
export function hashOperatorToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** What people see of a token after its first showing. */
export const maskedToken = (tokenId: string): string => `trk_op_${tokenId}_…`;
