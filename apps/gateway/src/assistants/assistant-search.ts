import { isDeepStrictEqual } from 'node:util';
import type { AssistantReply } from '@caribou/contracts';

interface Filter {
  readonly graph_id?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Whether an assistant or a version of it has the graph, a name with that part, and these values in its metadata. */
export const matches = (
  { graph_id, name, metadata }: Pick<AssistantReply, 'graph_id' | 'name' | 'metadata'>,
  filter: Filter,
): boolean =>
  (filter.graph_id ?? graph_id) === graph_id &&
  name.includes(filter.name ?? '') &&
  Object.entries(filter.metadata ?? {}).every(([key, value]) => isDeepStrictEqual(metadata[key], value));

/** The assistants by a field, and those with the same value by their ids. */
export function sortAssistants(
  assistants: readonly AssistantReply[],
  field: 'assistant_id' | 'graph_id' | 'name' | 'created_at' | 'updated_at',
  order: 'asc' | 'desc',
): AssistantReply[] {
  const sign = order === 'asc' ? 1 : -1;
  const compare = (left: string, right: string): number => (left === right ? 0 : left < right ? -1 : 1);
  return [...assistants].sort(
    (one, other) => sign * (compare(one[field], other[field]) || compare(one.assistant_id, other.assistant_id)),
  );
}
