import type { RiskEvent } from '../../risk/event.ts';
import { absorb } from '../../risk/features/absorb.ts';
import { computeFeatures } from '../../risk/features/compute.ts';
import type { EntityState } from '../../risk/features/state.ts';
import type { Features } from '../../risk/features/vector.ts';

/** The states of a Site's entities, as the evaluation job keeps them during a batch. */
export class History {
  readonly states = new Map<string, EntityState>();

  /** Features of an event as of now, without labels. */
  featuresOf(event: RiskEvent): Features {
    return computeFeatures(
      event,
      ({ kind, key }) => this.states.get(`${kind}/${key}`),
      () => undefined,
    );
  }

  /** Adds an event to the states of its entities. */
  add(event: RiskEvent): void {
    for (const { kind, key } of event.entities) {
      const name = `${kind}/${key}`;
      this.states.set(name, absorb(this.states.get(name), event, kind));
    }
  }
}
