import { AddressRefused } from './guard.ts';

/** Why an attempt got no answer that counts, as operators see it. */
export type FailureClass =
  | 'DNS' // the name has no address, or its servers do not answer
  | 'ADDRESS_REFUSED' // the address is not on the public internet
  | 'CONNECT' // refused or unreachable
  | 'TLS' // no valid certificate, or no common protocol
  | 'RESET' // the connection broke before an answer
  | 'TIMEOUT' // no answer in time
  | 'PROTOCOL' // something that is not HTTP
  | 'REDIRECT' // 3xx: never followed
  | 'STATUS'; // any other answer that is not 2xx

const CONNECT = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'EADDRNOTAVAIL',
  'EACCES',
  'EINVAL',
]);

const DNS =
  /^(?:ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EAI_\w+|EFORMERR|ENOTIMP|EBADNAME|EBADRESP|EDESTRUCTION)$/;
const TLS =
  /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH|ERROR_IN_CERT)/;

/** Sorts the error of a connection or a request by its code; its text may name hosts and stays out. */
export function failureClassOf(error: unknown): FailureClass {
  for (let current: unknown = error, depth = 0; current instanceof Error && depth < 5; depth += 1) {
    if (current instanceof AddressRefused) return 'ADDRESS_REFUSED';
    const code = 'code' in current && typeof current.code === 'string' ? current.code : '';
    if ('syscall' in current && current.syscall !== undefined && isLookup(current.syscall)) {
      return 'DNS';
    }
    if (TLS.test(code)) return 'TLS';
    if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') return 'TIMEOUT';
    // Some errors of the parser have a name and no code.
    const unreadable = current.name === 'HTTPParserError' || code.startsWith('HPE_');
    if (unreadable || code === 'UND_ERR_HEADERS_OVERFLOW') return 'PROTOCOL';
    if (CONNECT.has(code)) return 'CONNECT';
    if (DNS.test(code)) return 'DNS';
    if (current instanceof AggregateError && current.errors.length > 0) {
      return failureClassOf(current.errors[0]);
    }
    if (current.cause === undefined) break;
    current = current.cause;
  }
  return 'RESET';
}

const isLookup = (syscall: unknown): boolean =>
  typeof syscall === 'string' && /^(?:query|getaddrinfo)/.test(syscall);
