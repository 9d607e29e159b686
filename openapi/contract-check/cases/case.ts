import type { EventMaker } from '../events.ts';
import type { Credential, Probe } from '../probe.ts';

/** The parts of the check, in the order in which they run. */
export const GROUPS = [
  'document',
  'acceptance',
  'fields',
  'forbidden data',
  'requests',
  'credentials',
  'rate limit',
  'http',
  'production',
  'lifecycle',
] as const;

/** One part of the check. */
export type Group = (typeof GROUPS)[number];

/** What the cases of one run share. */
export interface Bench {
  readonly probe: Probe;
  readonly events: EventMaker;
  readonly sandbox: Credential;
  /** Of the dedicated check Site; the cases that need it are left out without. */
  readonly production?: Credential;
  /** Issued without the permissions ingest and label. */
  readonly restricted?: Credential;
  /** Host header of raw requests. */
  readonly host: string;
  /** Path of the base address, without a slash at its end. */
  readonly prefix: string;
  /** Longest wait for one evaluation, ms. */
  readonly evaluationMs: number;
}

/** One thing that must be so. */
export interface Case {
  readonly group: Group;
  /** operationId, or method and path where the description has no operation. */
  readonly operation: string;
  readonly name: string;
  run(): Promise<void>;
}

/** Makes the cases of one group and operation. */
export function casesOf(group: Group, operation: string) {
  return (name: string, run: () => Promise<void>): Case => ({ group, operation, name, run });
}

export const SUBMIT = { method: 'POST', path: '/v1/transactions' } as const;
export const USAGE = { method: 'GET', path: '/v1/usage' } as const;

/** The refusal of a request that breaks the contract, naming where. */
export const invalid = (...details: string[]) =>
  ({ status: 400, code: 'CONTRACT_VALIDATION_FAILED', details }) as const;
