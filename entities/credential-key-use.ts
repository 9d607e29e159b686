import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'CredentialKeyUse',
  tableName: 'credential_key_use',
  properties: {
    key_hash: p.blob().primary(),
    last_used_at: p.datetime(3),
  },
});

/** When an API key was last accepted, to the minute: each process writes what it saw once a minute. */
export class CredentialKeyUse extends schema.class {}

schema.setClass(CredentialKeyUse);
export { schema as CredentialKeyUseSchema };
