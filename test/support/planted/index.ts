import type { PlantedTable } from './planted.ts';
import { IN_BODIES } from './bodies.ts';
import { IN_STATUSES } from './statuses.ts';
import { IN_HEADERS } from './headers.ts';
import { BY_LENIENCY } from './leniency.ts';
import { IN_STATE } from './state.ts';

/** Every planted deviation. */
export const PLANTED: PlantedTable = {
  ...IN_BODIES,
  ...IN_STATUSES,
  ...IN_HEADERS,
  ...BY_LENIENCY,
  ...IN_STATE,
};
