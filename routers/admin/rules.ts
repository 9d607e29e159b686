import { router } from '../procedure.ts';
import { backtest, saveDraft, test } from './rule-drafts.ts';
import { get, list } from './rule-reads.ts';
import { publish, rollback, shadow, stopShadow } from './rule-releases.ts';

/** The rules of a Site and of all Sites: from a draft to live traffic, and back. */
export const rules = router({
  list,
  get,
  save_draft: saveDraft,
  test,
  backtest,
  shadow,
  stop_shadow: stopShadow,
  publish,
  rollback,
});
