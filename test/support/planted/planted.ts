import type { Group } from '../../../openapi/contract-check/cases/case.ts';
import { rewrite, type Fault, type Returned, type Sent } from '../broken-gateway.ts';
import type { Json } from '../../../openapi/contract-check/events.ts';

/** A fault, the parts of the check that must meet it, and what the report must say. */
export interface Planted extends Fault {
  readonly parts: readonly Group[];
  /** Operation and case, as the report names them. */
  readonly case: RegExp;
  readonly aspect: string;
}

/** Planted deviations, by what the gateway does wrong. */
export type PlantedTable = Readonly<Record<string, Planted>>;

/** Which requests a fault concerns. */
export const isSubmit = ({ path }: Sent): boolean => path === '/v1/transactions';
/** See {@link isSubmit}. */
export const isUsage = ({ path }: Sent): boolean => path === '/v1/usage';
/** See {@link isSubmit}. */
export const isIngestion = ({ path }: Sent): boolean => path.startsWith('/v1/ingestions/');
/** See {@link isSubmit}. */
export const isRisk = ({ path }: Sent): boolean => path.endsWith('/risk');
/** See {@link isSubmit}. */
export const isOutcome = ({ path }: Sent): boolean => path.endsWith('/outcomes');

/** A fault in the answers with one status to some requests. */
export const inAnswer =
  (which: (sent: Sent) => boolean, status: number, change: (returned: Returned) => void) =>
  (returned: Returned, sent: Sent): void => {
    if (returned.status === status && which(sent)) change(returned);
  };

/** Every request. */
export const always = (): boolean => true;

/** Events a lenient gateway repairs before it passes them on. */
export const repaired = (change: (event: Json, transaction: Json) => void) => (sent: Sent) => {
  if (!isSubmit(sent)) return;
  rewrite(sent, (event) => {
    const { transaction } = event;
    if (typeof transaction === 'object' && transaction !== null) change(event, transaction as Json);
  });
};
