import { Migration0001Ledger } from './0001-ledger.ts';
import { Migration0002AppendOnly } from './0002-append-only.ts';
import { Migration0003RateLimit } from './0003-rate-limit.ts';
import { Migration0004RateWindowSum } from './0004-rate-window-sum.ts';
import { Migration0005Operators } from './0005-operators.ts';
import { Migration0006Tasks } from './0006-tasks.ts';
import { Migration0007Webhooks } from './0007-webhooks.ts';
import { Migration0008Reports } from './0008-reports.ts';
import { Migration0009Models } from './0009-models.ts';
import { Migration0010RefuseCommit } from './0010-refuse-commit.ts';
import { Migration0011EvaluationTurns } from './0011-evaluation-turns.ts';
import { Migration0012Rules } from './0012-rules.ts';
import { Migration0013Imports } from './0013-imports.ts';
import { Migration0014LargeStates } from './0014-large-states.ts';
import { Migration0015SiteRetention } from './0015-site-retention.ts';
import { Migration0016UnsampledColumns } from './0016-unsampled-columns.ts';

/** Every migration, oldest first. A released one is never edited; a change is a new number. */
export const MIGRATIONS = [
  { name: '0001-ledger', class: Migration0001Ledger },
  { name: '0002-append-only', class: Migration0002AppendOnly },
  { name: '0003-rate-limit', class: Migration0003RateLimit },
  { name: '0004-rate-window-sum', class: Migration0004RateWindowSum },
  { name: '0005-operators', class: Migration0005Operators },
  { name: '0006-tasks', class: Migration0006Tasks },
  { name: '0007-webhooks', class: Migration0007Webhooks },
  { name: '0008-reports', class: Migration0008Reports },
  { name: '0009-models', class: Migration0009Models },
  { name: '0010-refuse-commit', class: Migration0010RefuseCommit },
  { name: '0011-evaluation-turns', class: Migration0011EvaluationTurns },
  { name: '0012-rules', class: Migration0012Rules },
  { name: '0013-imports', class: Migration0013Imports },
  { name: '0014-large-states', class: Migration0014LargeStates },
  { name: '0015-site-retention', class: Migration0015SiteRetention },
  { name: '0016-unsampled-columns', class: Migration0016UnsampledColumns },
];
