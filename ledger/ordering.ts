/** Orders as PostgreSQL does ids and C-collated text: what locks are sorted by. */
export function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
