import { credentialsWalk } from './credentials.ts';
import { deadLettersWalk } from './dead-letters.ts';
import { gatesWalk } from './gates.ts';
import { importsWalk } from './imports.ts';
import { ingestionsWalk } from './ingestions.ts';
import { modelsWalk } from './models.ts';
import { operatorsWalk } from './operators.ts';
import { reportsWalk } from './reports.ts';
import { listsWalk, rulesWalk } from './rules.ts';
import { sitesWalk } from './sites.ts';
import { tasksWalk } from './tasks.ts';
import { webhooksWalk } from './webhooks.ts';
import type { RouterWalk } from './walk.ts';

/** The whole router, in the order in which it is walked: a Site first, what needs one afterwards. */
export const WALKS: readonly RouterWalk[] = [
  sitesWalk,
  credentialsWalk,
  gatesWalk,
  ingestionsWalk,
  deadLettersWalk,
  tasksWalk,
  webhooksWalk,
  reportsWalk,
  rulesWalk,
  listsWalk,
  modelsWalk,
  importsWalk,
  operatorsWalk,
];
