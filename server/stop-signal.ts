import cluster from 'node:cluster';

/** The wish to stop, as SIGTERM or SIGINT expressed it. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly stopped: Promise<void>;
  /** Listens no more, and lets the process end. */
  done(): void;
}

/**
 * A second signal this soon is the same wish, ms: on Ctrl-C the terminal and npm both send one. Child processes leave
 * SIGINT to the first process altogether, which asks them by SIGTERM.
 */
const SAME_WISH_MS = 1_000;

/** Longest time a stop may take before the process leaves anyway, ms. */
const STOP_DEADLINE_MS = 25_000;

/** Waits for SIGTERM or SIGINT. A second one, or a stop that takes too long, ends the process at once. */
export function onStopSignal(tell: (line: string) => void): StopSignal {
  let aborted = false;
  let askedAt = 0;
  let resolveStopped: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    resolveStopped = resolve;
  });
  const leave = (reason: string): void => {
    tell(reason);
    process.exit(1);
  };
  const onSignal = (): void => {
    if (aborted) {
      if (performance.now() - askedAt > SAME_WISH_MS) leave('Stopped at once: asked twice.');
      return;
    }
    aborted = true;
    askedAt = performance.now();
    tell('Stopping: finishing what is in flight.');
    setTimeout(
      () => leave('Stopped: the time for a clean stop is over.'),
      STOP_DEADLINE_MS,
    ).unref();
    resolveStopped();
  };
  const onInterrupt = cluster.isPrimary ? onSignal : () => undefined;
  process.on('SIGTERM', onSignal).on('SIGINT', onInterrupt);
  return {
    get aborted() {
      return aborted;
    },
    stopped,
    done() {
      process.off('SIGTERM', onSignal).off('SIGINT', onInterrupt);
    },
  };
}
