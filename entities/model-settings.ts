import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ModelSettings',
  tableName: 'model_settings',
  properties: {
    site_id: p.bigint().primary(),
    label_delay_days: p.integer(),
    train_every_days: p.integer(),
    history_days: p.integer(),
    last_trained_at: p.datetime(3).nullable(),
  },
});

/** How the models of one Site are learned; a Site without a row has the defaults. */
export class ModelSettings extends schema.class {}

schema.setClass(ModelSettings);
export { schema as ModelSettingsSchema };
