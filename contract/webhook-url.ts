import { reservedRangeOfHost } from './address-ranges.ts';
import { forbiddenKindOf } from './forbidden-data.ts';
import { FORBIDDEN_KINDS } from './forbidden/kinds.ts';

/** Characters of a webhook's URL at most. */
export const MAX_URL_LENGTH = 2_048;

/**
 * Reads the URL of an endpoint. What it refuses could never be delivered to, or should not be stored; a host name is
 * judged when it is dialled, by every address it has then.
 *
 * @param allowPrivate WEBHOOK_ALLOW_PRIVATE_NETWORKS: http and reserved addresses too
 * @returns the URL in its normal form, or what is wrong with it, without quoting it
 */
export function readWebhookUrl(
  text: string,
  allowPrivate: boolean,
): { readonly url: URL } | { readonly problem: string } {
  if (text.length > MAX_URL_LENGTH) {
    return { problem: `must have at most ${MAX_URL_LENGTH} characters` };
  }
  if (!URL.canParse(text)) return { problem: 'must be a URL such as https://example.com/webhooks' };
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return { problem: 'must begin with https://' };
  }
  if (url.username !== '' || url.password !== '') {
    return { problem: 'must not hold a user name or password; the signature says who calls' };
  }
  if (url.hash !== '') return { problem: 'must not have a fragment (#)' };
  const range = allowPrivate ? undefined : reservedRangeOfHost(url.hostname);
  if (range !== undefined) return { problem: `must not point to ${range.reason} (${range.rfc})` };
  if (!allowPrivate && isLocalName(url.hostname)) {
    return { problem: 'must have a host name that is known on the public internet' };
  }
  const kind = forbiddenKindOf(decoded(`${url.pathname}${url.search}`));
  if (kind !== undefined) return { problem: FORBIDDEN_KINDS[kind] };
  return { url };
}

/** Names that no public name server answers for (RFC 6761, RFC 6762, RFC 9476, ICANN's .internal). */
const isLocalName = (hostname: string): boolean =>
  /(?:^|\.)(?:localhost|local|internal|invalid|alt|home\.arpa)\.?$/.test(hostname);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
