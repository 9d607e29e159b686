import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Credential',
  tableName: 'credential',
  properties: {
    id: p.bigint().primary().autoincrement(),
    site_id: p.bigint(),
    environment: p.text().$type<'production' | 'sandbox'>(),
    label: p.text(),
    permissions: p.array().columnType('text[]'),
    expires_at: p.datetime(3).nullable(),
    revoked_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
  },
});

/** What a Site calls with: an environment, permissions and an end; its keys are in credential_key. */
export class Credential extends schema.class {}

schema.setClass(Credential);
export { schema as CredentialSchema };
