import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ServiceHour',
  tableName: 'service_hour',
  properties: {
    site_id: p.bigint().primary(),
    hour: p.datetime(3).primary(),
    operation: p.text().primary(),
    outcome: p.text().primary(),
    count: p.bigint(),
  },
});

/** How often one operation ended in one way in one hour (UTC), as the processes counted it. */
export class ServiceHour extends schema.class {}

schema.setClass(ServiceHour);
export { schema as ServiceHourSchema };
