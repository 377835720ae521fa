import { ThreadStatus, type ThreadRecord } from '@caribou/contracts';
import { hashOf } from '../redis/hash.js';
import { parseGoalChange } from '../goals/goal-change.js';
import { parseStored } from '../redis/stored-json.js';

const VALUE = 'v:';
/** A copy that earlier versions made. */
const UNLISTED = 'v:guards';

/** Decodes the thread record that `includes/create.lua` wrote, with a goal that a run in flight has not set yet. */
export function threadOf(threadId: string, flat: unknown): ThreadRecord {
  const hash = hashOf(flat);
  const text = (field: string): string => hash.get(field) ?? '';
  const values = [...hash]
    .filter(([field]) => field.startsWith(VALUE) && field !== UNLISTED)
    .map<[string, unknown]>(([field, value]) => [field.slice(VALUE.length), parseStored(value)]);
  const { goalChange } = parseGoalChange(hash.get('goal_change'));
  if (goalChange !== undefined) values.push(['goal', goalChange.goal ?? undefined]);
  return {
    thread_id: threadId,
    created_at: text('created_at'),
    updated_at: text('updated_at'),
    metadata: parseStored<ThreadRecord['metadata']>(text('metadata')),
    status: ThreadStatus.parse(text('status')),
    values: Object.fromEntries(values),
    head: text('head') === '' ? null : text('head'),
  };
}

/** Whether a record is shown in lists and by its id. */
export const isListed = (flat: readonly string[]): boolean => {
  const hash = hashOf(flat);
  return hash.size > 0 && !hash.has('ended');
};
