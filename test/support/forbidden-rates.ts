import { findForbidden } from '../../contract/forbidden-data.ts';
import type { Sample } from './benign-corpus.ts';
import { looksLikeCard } from './long-numbers.ts';

/** What the scan said about the samples of one kind. */
export interface KindRate {
  readonly kind: string;
  readonly total: number;
  /** Samples in which something was found. */
  readonly found: number;
  /** Samples in which something was found and that cannot be told from a card number. */
  readonly cardLike: number;
}

/** Scans every sample where a merchant would put it, and counts by kind. */
export function ratesOf(samples: readonly Sample[]): KindRate[] {
  return [...Map.groupBy(samples, ({ kind }) => kind)].map(([kind, group]) => {
    const found = group.filter(
      ({ value }) => findForbidden({ order: { field: value } }).length > 0,
    );
    const cardLike = found.filter(({ value }) => looksLikeCard(value)).length;
    return { kind, total: group.length, found: found.length, cardLike };
  });
}

/** Share of harmless samples refused without looking like a card. */
export const refusedShare = ({ total, found, cardLike }: KindRate): number =>
  (found - cardLike) / total;

/** Share of forbidden samples missed. */
export const missedShare = ({ total, found }: KindRate): number => 1 - found / total;
