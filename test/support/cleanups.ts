/** Ends something that was made for the whole test run. */
export type Cleanup = () => Promise<void>;

const cleanups: Cleanup[] = [];

/** Registers what must end with the test run; the latest is called first. */
export function atEndOfRun(cleanup: Cleanup): void {
  cleanups.push(cleanup);
}

/** Calls every registered cleanup once, also after one failed. @throws AggregateError of what failed */
export async function cleanUp(): Promise<void> {
  const errors: unknown[] = [];
  for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) {
    await cleanup().catch((error: unknown) => errors.push(error));
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join('\n'));
}
