/** Milliseconds on the clock that all threads share; `performance.now()` of each begins at another moment. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
