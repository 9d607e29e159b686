import type { ScenarioName } from '../options.ts';
import { connections } from './connections.ts';
import { entities } from './entities.ts';
import { evaluation } from './evaluation.ts';
import { growth } from './growth.ts';
import { ingest } from './ingest.ts';
import { overload } from './overload.ts';
import { rateLimit } from './rate-limit.ts';
import { replays } from './replays.ts';
import type { Scenario } from './scenario.ts';
import { status } from './status.ts';
import { steady } from './steady.ts';
import { together } from './together.ts';

/** Every scenario by its name. */
export const SCENARIO: Record<ScenarioName, Scenario> = {
  ingest,
  connections,
  steady,
  replays,
  status,
  evaluation,
  together,
  overload,
  growth,
  entities,
  'rate-limit': rateLimit,
};
