import type { RunEvent } from '@caribou/contracts';

/** What a watcher has of each message who puts its deltas together and drops what a later attempt says to drop. */
export function deltaTexts(events: readonly RunEvent[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.kind === 'message.delta')
      texts.set(event.message_id, (texts.get(event.message_id) ?? '') + event.content);
    if (event.kind === 'run.start') for (const id of event.dropped_message_ids) texts.delete(id);
  }
  return texts;
}
