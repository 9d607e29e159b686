import { findForbidden } from '../../contract/forbidden-data.ts';
import { BODY, HOSTILE, ORDINARY_EVENT } from '../../test/support/scan-loads.ts';

/** What one scan of a body costs. */
export interface ScanTime {
  readonly body: string;
  readonly milliseconds: number;
}

/** Fastest of `runs`, ms each: the one that the machine disturbed least. */
function fastest(runs: number, scan: () => void): number {
  let best = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    scan();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

/** Times an ordinary event and, slowest first, bodies of 256 KiB made to be slow. */
export function measureScan(): ScanTime[] {
  const repeats = 1000;
  const ordinary = fastest(20, () => {
    for (let i = 0; i < repeats; i++) findForbidden(ORDINARY_EVENT);
  });
  const hostile = Object.entries(HOSTILE).map(([name, make]) => {
    const body = { order: { x: make(BODY) } };
    return { body: `256 KiB of ${name}`, milliseconds: fastest(30, () => findForbidden(body)) };
  });
  return [
    { body: 'an ordinary event of 1 KB', milliseconds: ordinary / repeats },
    ...hostile.toSorted((a, b) => b.milliseconds - a.milliseconds),
  ];
}
