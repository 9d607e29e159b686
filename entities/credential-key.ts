import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'CredentialKey',
  tableName: 'credential_key',
  properties: {
    key_hash: p.blob().primary(),
    credential_id: p.bigint(),
    key_id: p.text(),
    expires_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
  },
});

/** One API key of a credential, by its SHA-256; a rotation adds one and gives the older an end. */
export class CredentialKey extends schema.class {}

schema.setClass(CredentialKey);
export { schema as CredentialKeySchema };
