import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'UsageCounter',
  tableName: 'usage_counter',
  properties: {
    site_id: p.bigint().primary(),
    credential_id: p.bigint().primary(),
    month: p.text().primary(),
    accepted: p.bigint(),
  },
});

/** First acceptances of one credential in one UTC month (YYYY-MM). */
export class UsageCounter extends schema.class {}

schema.setClass(UsageCounter);
export { schema as UsageCounterSchema };
