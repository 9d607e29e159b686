import type { EntityRef } from '../../risk/entities.ts';
import type { RiskEvent } from '../../risk/event.ts';
import { absorb } from '../../risk/features/absorb.ts';
import { computeFeatures } from '../../risk/features/compute.ts';
import type { EntityState } from '../../risk/features/state.ts';
import type { Features } from '../../risk/features/vector.ts';
import type { EntityLabels } from '../../risk/labels.ts';

/** The states of a Site's entities, as the evaluation job keeps them during a batch. */
export class History {
  readonly states = new Map<string, EntityState>();

  /** Features of an event as of now, without labels unless they are given. */
  featuresOf(
    event: RiskEvent,
    labelsOf: (entity: EntityRef) => EntityLabels | undefined = () => undefined,
  ): Features {
    return computeFeatures(event, ({ kind, key }) => this.states.get(`${kind}/${key}`), labelsOf);
  }

  /** Adds an event to the states of its entities. */
  add(event: RiskEvent): void {
    for (const { kind, key } of event.entities) {
      const name = `${kind}/${key}`;
      this.states.set(name, absorb(this.states.get(name), event, kind));
    }
  }
}
