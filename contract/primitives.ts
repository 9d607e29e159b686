import { z } from 'zod';
import { isInstant } from './instant.ts';

export { parseInstant } from './instant.ts';

/**
 * Length of a text in Unicode code points, the unit of every length in the contract: it is what JSON Schema
 * counts (2020-12 validation, section 6.3.1) and what `varchar(n)` counts in PostgreSQL.
 */
export function codePointLength(text: string): number {
  let length = text.length;
  for (let i = 1; i < text.length; i++) {
    const isPair =
      (text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800;
    if (isPair) length--;
  }
  return length;
}

/**
 * A string of `min`..`max` code points; zod's own `max` would count an emoji as two.
 * The bound is repeated in the metadata, because zod documents only its own checks.
 */
export function boundedText(min: 0 | 1, max: number): z.ZodString {
  const text = min === 0 ? z.string() : z.string().min(1);
  return text
    .check((context) => {
      if (context.value.length > max && codePointLength(context.value) > max) {
        context.issues.push({
          code: 'too_big',
          origin: 'string',
          maximum: max,
          inclusive: true,
          input: context.value,
        });
      }
    })
    .meta({ maxLength: max });
}

/** ISO 8601 date-time with an offset, kept as the caller wrote it; see {@link parseInstant} for what is accepted. */
export const Instant = z
  .string()
  .check((context) => {
    if (!isInstant(context.value)) {
      context.issues.push({
        code: 'invalid_format',
        format: 'datetime',
        message: 'must be an ISO 8601 date-time with an offset, such as 2026-03-01T09:00:00+09:00',
        input: context.value,
      });
    }
  })
  .meta({ format: 'date-time', example: '2026-03-01T09:00:00+09:00' });

/** ISO 4217 code by shape only: three uppercase letters; unknown codes are accepted, as the contract states a pattern. */
export const Currency = z
  .string()
  .regex(/^[A-Z]{3}$/, { error: 'must be three uppercase letters (ISO 4217)' })
  .meta({ example: 'KRW' });

/** Money: integer >= 0 in the currency's minor unit, at most 2^53 - 1. */
export const AmountMinor = z.int().min(0).meta({ example: 129000 });

/** The caller's event id, or the TID that replaces it: 1..120 code points. */
export const SourceEventId = boundedText(1, 120).meta({
  example: 'order-20260301-000017',
});

/** Idempotency-Key header: 8..128 characters of `A-Z a-z 0-9 . _ : -`. */
export const IdempotencyKey = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{8,128}$/, {
    error: 'must be 8 to 128 characters of A-Z a-z 0-9 . _ : -',
  })
  .meta({ example: 'order-20260301-000017' });

/** An ingestion id by its public format; {@link parseIngestionId} says whether it can name a stored row. */
export const IngestionId = z
  .string()
  .regex(/^ing_[0-9]+$/, { error: 'must be ing_ followed by digits' })
  .meta({ example: 'ing_1024' });

/** Request id of the answer; equals the x-request-id response header. */
export const RequestId = z
  .string()
  .meta({ description: 'Equals the x-request-id response header.', example: 'req_01hzx3k9q7' });

const MAX_INGESTION_ID = 2n ** 63n - 1n;

/** The public form of a ledger row's id. */
export function ingestionIdOf(id: bigint): string {
  return `ing_${id}`;
}

/**
 * The ledger row's id behind a public ingestion id.
 *
 * @returns undefined where no row can have it: not `ing_` + digits, leading zeros, or beyond 2^63 - 1.
 *   Only the first of these is a format error (400); the others have the contract's format and name nothing (404).
 */
export function parseIngestionId(text: string): bigint | undefined {
  if (!/^ing_(0|[1-9][0-9]{0,18})$/.test(text)) return undefined;
  const id = BigInt(text.slice(4));
  return id <= MAX_INGESTION_ID ? id : undefined;
}
