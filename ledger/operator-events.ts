import { run, type Db } from './database.ts';
import type { OperatorEventKind } from './operator-event-kinds.ts';

/** What JSON can say. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/** Something that operators should notice. */
export interface NewOperatorEvent {
  /** Left out for what concerns no single Site. */
  readonly siteId?: bigint;
  /** A new one is added, with its meaning, in operator-event-kinds.ts. */
  readonly kind: OperatorEventKind;
  /** What it is about, such as `endpoint 12`: an id, never a value that was sent. */
  readonly subject: string;
  /** More of it; never a key, secret, URL or payload. */
  readonly detail?: Readonly<Record<string, JsonValue>>;
  /** When, ms since 1970 UTC. */
  readonly at: number;
}

/** Tells operators: written where and when the caller's transaction commits, read with `events.list`. */
export async function raiseOperatorEvent(db: Db, event: NewOperatorEvent): Promise<void> {
  await run(
    db,
    `insert into operator_event (site_id, kind, subject, detail, at)
     values ($1, $2, $3, $4::jsonb, $5::timestamptz)`,
    [
      String(event.siteId ?? 0n),
      event.kind,
      event.subject,
      JSON.stringify(event.detail ?? {}),
      new Date(event.at).toISOString(),
    ],
  );
}
