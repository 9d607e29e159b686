import { checkSecrets } from '../ledger/webhook-secrets.ts';
import type { ServiceOptions } from './service.ts';
import type { Wiring } from './wire.ts';

/** What is stored cannot be opened with SECRETS_KEY; the message says what to do. Waiting does not help. */
export class SecretsKeyRefused extends Error {
  override name = 'SecretsKeyRefused';
}

/**
 * Tries SECRETS_KEY on what is stored before anything is sent: with a wrong key every delivery would fail, hours later.
 * A key that nothing needs any more is only told about, so that a restart after `webhooks.rewrap` is no outage.
 *
 * @throws SecretsKeyRefused; otherwise what the database throws
 */
export async function checkSecretsKeys(
  { tell }: Pick<ServiceOptions, 'tell'>,
  { api: { services } }: Pick<Wiring, 'api'>,
): Promise<void> {
  const db = services.orm.em.fork().getKysely();
  const { unreadable, idle } = await checkSecrets(db, services.secretBox);
  if (unreadable.length > 0) {
    throw new SecretsKeyRefused(
      `SECRETS_KEY cannot open stored signing secrets: they were sealed by the key named ${unreadable.join(', ')}, which is missing or another one; put it back behind the present one, separated by a comma.`,
    );
  }
  if (idle.length > 0) {
    tell?.(`SECRETS_KEY: nothing needs the key named ${idle.join(', ')} any more; take it out.`);
  }
}
