import { router } from '../procedure.ts';
import { audit } from './audit.ts';
import { contracts } from './contracts.ts';
import { credentials } from './credentials.ts';
import { deadLetters } from './dead-letters.ts';
import { events } from './events.ts';
import { gates } from './gates.ts';
import { imports } from './imports.ts';
import { lists } from './lists.ts';
import { models } from './models.ts';
import { operators } from './operators.ts';
import { reports } from './reports.ts';
import { ingestions } from './ingestions.ts';
import { rules } from './rules.ts';
import { sites } from './sites.ts';
import { tasks } from './tasks.ts';
import { webhooks } from './webhooks.ts';

/** What internal tools call, at /admin/trpc. None of it carries REST metadata, so none of it reaches /v1. */
export const adminRouter = router({
  sites,
  gates,
  contracts,
  credentials,
  ingestions,
  dead_letters: deadLetters,
  tasks,
  webhooks,
  reports,
  rules,
  lists,
  models,
  imports,
  operators,
  events,
  audit,
});

/** For typed clients: `import type` it (docs/examples/admin-client). */
export type AppRouter = typeof adminRouter;
