import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'certificates', name), 'utf8');

const pair = (name: string): { readonly key: string; readonly cert: string } => ({
  key: read(`${name}.key`),
  cert: read(`${name}.pem`),
});

/** The authority that signed `good` and `expired`; no machine trusts it by itself. */
export const TEST_CA = read('ca.pem');

/** Certificates of `hooks.test`, made for these tests: valid to 2126, ended in 2020, signed by nobody. */
export const CERTIFICATES = {
  good: pair('good'),
  expired: pair('expired'),
  stranger: pair('stranger'),
};
