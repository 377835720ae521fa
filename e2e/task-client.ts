import type { TaskEvent } from '@caribou/contracts';
import type { Frame } from './client.js';
import type { Stack } from './stack.js';

/** A line of a script that calls `task`; `work` is the script of the subagent. */
export function taskLine(work: string, { type = 'general-purpose', description = 'some work' } = {}): string {
  return `#tool task ${JSON.stringify({ description, prompt: work, subagent_type: type })}`;
}

/** An answer that hands several tasks over at once. */
export const taskLines = (...works: readonly string[]): string =>
  works.map((work, index) => (index === 0 ? taskLine(work) : `#+${taskLine(work).slice(1)}`)).join('\n');

/** Switches of a run that may hand work over. */
export const WITH_SUBAGENTS = { context: { subagent_enabled: true } };

/** The events of tasks among frames, oldest first. */
export const taskEvents = (frames: readonly Pick<Frame, 'event' | 'data'>[]): readonly TaskEvent[] =>
  frames
    .filter(({ event }) => event === 'custom')
    .map(({ data }) => data as TaskEvent)
    .filter(({ type }) => type.startsWith('task_'));

/** The kinds of each task's events in order, by its id. */
export function kindsByTask(events: readonly TaskEvent[]): ReadonlyMap<string, readonly string[]> {
  const kinds = new Map<string, string[]>();
  for (const { task_id: id, type } of events) kinds.set(id, [...(kinds.get(id) ?? []), type]);
  return kinds;
}

/** A request of a subagent as the model server got it. */
export interface TaskRequest {
  readonly closedByClient: boolean;
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown; readonly name?: string }[];
  readonly tools: readonly string[];
}

interface RequestBody {
  readonly model: string;
  readonly messages: TaskRequest['messages'];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** Requests of the subagents whose work begins with a word; requests of their parents, which quote it, are not among them. */
export const requestsOfTasks = ({ model }: Pick<Stack, 'model'>, word: string): readonly TaskRequest[] =>
  model.requests(word).flatMap(({ body, closedByClient }) => {
    const { model: name, messages, tools = [] } = body as RequestBody;
    const asked = messages.find(({ role }) => role === 'user')?.content;
    if (typeof asked !== 'string' || !asked.replace('<user_input>\n', '').trimStart().startsWith(word)) return [];
    return [{ closedByClient, model: name, messages, tools: tools.map((tool) => tool.function.name) }];
  });
