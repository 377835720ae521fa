import type { TaskEvent } from '@caribou/contracts';
import type { Frame } from './client.js';

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
export const taskEvents = (frames: readonly Frame[]): readonly TaskEvent[] =>
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
