import type { AdminService } from '../admin-service.ts';

/** What the steps of a walk through the whole router know. */
export interface Walk {
  /** Code of the walk's Site; every text of a step holds it, so that it is found where it must not be. */
  readonly code: string;
  readonly service: AdminService;
  /** What the last call of a procedure answered; its fields are read by later steps. */
  answer(path: string): Record<string, unknown>;
}

/** One call: a mutation that succeeds when its turn comes. */
export interface Step {
  readonly path: string;
  /** Worked out when its turn comes, because ids come from earlier answers. */
  readonly input: (walk: Walk) => unknown;
  /** True for what belongs to no Site: its audit row names none. */
  readonly ofNoSite?: boolean;
  /** Brings about what the call needs and no procedure can. */
  readonly before?: (walk: Walk) => Promise<void>;
}

/** What the walk knows of the procedures of one router. */
export interface RouterWalk {
  /** Every mutation at least once, in an order in which each can. */
  readonly steps: readonly Step[];
  /**
   * Inputs of queries that need more than `site_code` (given wherever a query takes it); asked after all steps.
   */
  readonly queries?: Readonly<Record<string, (walk: Walk) => unknown>>;
}
