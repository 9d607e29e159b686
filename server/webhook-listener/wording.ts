import type { Heard } from './listener.ts';

/** Without control characters: what somebody sent must not steer a terminal. */
const printable = (text: string): string => text.replaceAll(/[^\P{Cc}\n]/gu, '�');

/** A delivery as it is printed: one line, and below it what was sent. */
export function wordDelivery({ at, verdict, eventId, raw }: Heard): string {
  const time = new Date(at).toISOString().slice(11, 23);
  if (verdict === 'refused') {
    return `${time}  REFUSED   no valid signature, or a timestamp more than 5 minutes off; is it the right secret?\n`;
  }
  const { type, text } = readBody(raw);
  const line = `${time}  ${verdict === 'verified' ? 'verified' : 'REPEATED'}  ${type}  ${printable(eventId)}\n`;
  return verdict === 'repeated' ? line : `${line}${printable(text)}\n`;
}

function readBody(raw: string): { type: string; text: string } {
  try {
    const body = JSON.parse(raw) as { event_type?: unknown };
    return {
      type: typeof body.event_type === 'string' ? printable(body.event_type) : 'without event_type',
      text: JSON.stringify(body, null, 2).replaceAll(/^/gm, '              '),
    };
  } catch {
    return { type: 'no JSON', text: raw };
  }
}
