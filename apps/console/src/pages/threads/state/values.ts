import type { ClientInterrupt, Todo } from '@caribou/contracts';
import type { ConversationState } from './conversation-state.js';
import { isRecord, stringOf } from './json.js';

/** Applies changed channels of the thread's state, as an update or the whole state has them; others stay as they are. */
export function withChannels(state: ConversationState, channels: Readonly<Record<string, unknown>>): ConversationState {
  const { values } = state;
  const changed = {
    ...values,
    ...('title' in channels ? { title: stringOf(channels['title']) } : {}),
    ...(Array.isArray(channels['todos']) ? { todos: todosIn(channels['todos']) } : {}),
    ...(Array.isArray(channels['artifacts'])
      ? {
          artifacts: union(
            values.artifacts,
            channels['artifacts'].filter((path) => typeof path === 'string'),
          ),
        }
      : {}),
    ...('goal' in channels ? { goal: channels['goal'] ?? undefined } : {}),
    ...(Array.isArray(channels['interrupts']) ? { interrupts: interruptsIn(channels['interrupts']) } : {}),
  };
  const isSame = Object.keys(channels).every(
    (name) => !['title', 'todos', 'artifacts', 'goal', 'interrupts'].includes(name),
  );
  return isSame ? state : { ...state, values: changed };
}

const statuses = new Set<unknown>(['pending', 'in_progress', 'completed']);

const isTodo = (todo: unknown): todo is Todo =>
  isRecord(todo) && typeof todo['content'] === 'string' && statuses.has(todo['status']);

const todosIn = (todos: readonly unknown[]): Todo[] => todos.filter(isTodo);

const isInterrupt = (interrupt: unknown): interrupt is ClientInterrupt =>
  isRecord(interrupt) && typeof interrupt['id'] === 'string';

const interruptsIn = (interrupts: readonly unknown[]): ClientInterrupt[] => interrupts.filter(isInterrupt);

const union = (known: readonly string[], more: readonly string[]): readonly string[] => [
  ...new Set([...known, ...more]),
];
