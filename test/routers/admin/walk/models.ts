import { insertModel } from '../../../../ledger/models.ts';
import { FEATURES_VERSION } from '../../../../risk/index.ts';
import type { RouterWalk, Walk } from './walk.ts';

const RANKING = { auc_roc: 0.9, average_precision: 0.7, card_precision_100: 0.3 };

/** By the code of the walk's Site. */
const learned = new Map<string, string>();

/** A model of the walk's Site, better than what was answered. */
async function learn({ service, code }: Walk): Promise<void> {
  const rows = await service.database.query<{ id: string }>('select id from site where code = $1', [
    code,
  ]);
  const db = service.services.orm.em.fork().getKysely();
  const id = await insertModel(db, {
    siteId: BigInt(rows[0]?.id ?? 0),
    featuresVersion: FEATURES_VERSION,
    settings: {},
    metrics: { ...RANKING, answered: { ...RANKING, average_precision: 0.2 } },
    forest: '{}',
    contentHash: '00000000',
    by: 'walk',
    at: service.clock.at,
  });
  learned.set(code, String(id));
}

const modelOf = ({ code }: Walk) => ({ site_code: code, model_id: learned.get(code) ?? '0' });

/** Models: learned, tried in the shadow, published and taken back. */
export const modelsWalk: RouterWalk = {
  steps: [
    { path: 'models.train', input: ({ code }) => ({ site_code: code }) },
    { path: 'models.configure', input: ({ code }) => ({ site_code: code, label_delay_days: 10 }) },
    { path: 'models.shadow', before: learn, input: modelOf },
    { path: 'models.compare', input: modelOf },
    { path: 'models.stop_shadow', input: ({ code }) => ({ site_code: code }) },
    { path: 'models.publish', input: modelOf },
    { path: 'models.rollback', input: ({ code }) => ({ site_code: code }) },
  ],
};
