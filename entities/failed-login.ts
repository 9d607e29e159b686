import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'FailedLogin',
  tableName: 'failed_login',
  properties: {
    minute: p.datetime(3).primary(),
    address: p.text().primary(),
    failures: p.bigint(),
  },
});

/** Failed logins of one address in a minute that is not over yet; afterwards one row of the audit says it. */
export class FailedLogin extends schema.class {}

schema.setClass(FailedLogin);
export { schema as FailedLoginSchema };
