import type { RunEvent } from '@caribou/contracts';

/** The text of each message for a client that joins its deltas and discards the messages that a later attempt drops. */
export function deltaTexts(events: readonly RunEvent[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.kind === 'message.delta')
      texts.set(event.message_id, (texts.get(event.message_id) ?? '') + event.content);
    if (event.kind === 'run.start') for (const id of event.dropped_message_ids) texts.delete(id);
  }
  return texts;
}
