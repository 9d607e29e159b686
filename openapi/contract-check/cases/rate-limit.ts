import { USAGE, casesOf, type Bench, type Case } from './case.ts';

/** The contract admits 120 in 60 s; what one run sent before counts. */
const MOST = 121;

/** Uses the sandbox key up, and holds the gateway to its own word about when it goes on. */
export function rateLimitCases({ probe, sandbox }: Bench): Case[] {
  const make = casesOf('rate limit', 'getApiUsage');
  const refused = { status: 429, code: 'RATE_LIMITED' } as const;
  return [
    make('more than 120 calls in 60 s are refused, and Retry-After is kept', async () => {
      for (let sent = 0; ; sent += 1) {
        const answer = await probe.callAtOnce('getApiUsage', sandbox, USAGE);
        if (answer === undefined) return;
        if (answer.status === 200 && sent < MOST) continue;
        probe.judge('getApiUsage', sandbox, answer, refused);
        if (answer.status !== 429) return;
        const seconds = Number(answer.headers.get('retry-after')?.[0]);
        const limit = answer.headers.get('ratelimit')?.[0] ?? '';
        if (!/;r=0;/.test(limit)) probe.report('header RateLimit', 'r=0', 'another r');
        if (!limit.endsWith(`;t=${seconds}`))
          probe.report('header RateLimit', 't as Retry-After says', 'another t');
        if (!(seconds >= 1 && seconds <= 61)) {
          probe.report('header Retry-After', '1 to 61 seconds', 'another wait');
          return;
        }
        await probe.sleep(seconds * 1000);
        break;
      }
      const after = await probe.callAtOnce('getApiUsage', sandbox, USAGE);
      if (after !== undefined) probe.judge('getApiUsage', sandbox, after, { status: 200 });
    }),
  ];
}
