import { hash } from 'node:crypto';

/** SHA-256 of a text, as hex. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** The stored form of an Idempotency-Key: the first 16 bytes of its SHA-256, as a UUID. Narrow, and no caller's text. */
export function keyHashOf(idempotencyKey: string): string {
  const hex = hash('sha256', idempotencyKey, 'hex').slice(0, 32);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
