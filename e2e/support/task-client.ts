import type { TaskEvent } from '@caribou/contracts';
import { type ApiClient, type Frame, lastValues, type OpenStream, runIdOf } from './client.js';
import type { Stack } from './stack.js';

/** A line of a script that calls `task`; `work` is the script of the subagent. */
export function taskLine(work: string, { type = 'general-purpose', description = 'some work' } = {}): string {
  return `#tool task ${JSON.stringify({ description, prompt: work, subagent_type: type })}`;
}

/** An answer that makes several calls at once. */
export const atOnce = (...lines: readonly string[]): string =>
  lines.map((line, index) => (index === 0 ? line : `#+${line.slice(1)}`)).join('\n');

/** An answer that hands several tasks over at once. */
export const taskLines = (...works: readonly string[]): string => atOnce(...works.map((work) => taskLine(work)));

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

/** The result of a task in the thread. */
export interface TaskResult {
  readonly type: string;
  readonly tool_call_id: string;
  readonly content: string;
  readonly status: string;
  readonly additional_kwargs: Readonly<Record<string, unknown>>;
}

export const taskResults = (frames: readonly Frame[]): readonly TaskResult[] =>
  lastValues(frames).filter(({ type, name }) => type === 'tool' && name === 'task') as unknown as TaskResult[];

/** A run that handed tasks over, after its end. */
export interface EndedTurn {
  readonly frames: readonly Frame[];
  readonly events: readonly TaskEvent[];
  readonly results: readonly TaskResult[];
  /** As the API shows it. */
  readonly run: Readonly<Record<string, unknown>>;
}

export async function endOf(client: ApiClient, threadId: string, stream: OpenStream): Promise<EndedTurn> {
  const frames = await stream.end(60_000);
  const { body: run } = await client.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`);
  return { frames, events: taskEvents(frames), results: taskResults(frames), run };
}

/** A turn on a thread of its own, to its end. */
export async function turnOf(client: ApiClient, script: string, options: object = WITH_SUBAGENTS): Promise<EndedTurn> {
  const threadId = await client.newThread();
  return endOf(client, threadId, await client.run(threadId, script, { ...options }));
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
    // The first message of each thread is the server's: the date, skills and the like.
    const asked = messages.filter(({ role }) => role === 'user')[1]?.content;
    if (typeof asked !== 'string' || !asked.replace('<user_input>\n', '').trimStart().startsWith(word)) return [];
    return [{ closedByClient, model: name, messages, tools: tools.map((tool) => tool.function.name) }];
  });
