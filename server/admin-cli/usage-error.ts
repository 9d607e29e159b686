/** The command line is wrong; the message says what to do. Exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** "; did you mean X?" where one of the candidates is near, else nothing. */
export function suggest(given: string, candidates: readonly string[]): string {
  const [nearest] = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(given, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const near = nearest !== undefined && nearest.distance <= Math.max(2, given.length / 3);
  return near ? `; did you mean ${nearest.candidate}?` : '';
}

/** Levenshtein distance, by rows. A word that only begins alike counts as near. */
function distanceOf(a: string, b: string): number {
  if (a.length >= 3 && b.startsWith(a)) return 1;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
