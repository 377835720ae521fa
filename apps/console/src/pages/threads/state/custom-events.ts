import type { ConversationState, Output, Task, TaskStep } from './conversation-state.js';
import { isRecord, numberOf, stringOf, textOf } from './json.js';

/** Characters of the live output of a command that are shown: its end. */
const MAX_OUTPUT_CHARS = 64_000;
const MAX_STEPS = 100;
const MAX_STEP_CHARS = 2_000;

type Json = Readonly<Record<string, unknown>>;

/** Applies an event of mode `custom`: output of commands, subagents, and what model calls wait for. */
export function withCustom(state: ConversationState, data: unknown): ConversationState {
  if (!isRecord(data)) return state;
  const type = stringOf(data['type']) ?? '';
  if (type === 'bash_output') return withOutput(state, data);
  if (type.startsWith('task_')) return withTask(state, type, data);
  if (['llm_retry', 'llm_fallback', 'safety_termination'].includes(type) && state.run !== undefined)
    return { ...state, run: { ...state.run, notice: stringOf(data['message']) } };
  return state;
}

function withOutput(state: ConversationState, piece: Json): ConversationState {
  const callId = stringOf(piece['tool_call_id']);
  // The result has all of it, and is there when a stream is read from the start.
  const isOver = [...state.stored, ...state.live].some((item) => item.kind === 'result' && item.callId === callId);
  if (callId === undefined || isOver) return state;
  const known: Output = state.outputs.get(callId) ?? { text: '', omittedChars: 0 };
  const text = known.text + (stringOf(piece['stdout']) ?? '') + (stringOf(piece['stderr']) ?? '');
  const cut = Math.max(0, text.length - MAX_OUTPUT_CHARS);
  const omittedChars = known.omittedChars + (numberOf(piece['omitted_chars']) ?? 0) + cut;
  return { ...state, outputs: new Map(state.outputs).set(callId, { text: text.slice(cut), omittedChars }) };
}

const endings: Readonly<Record<string, Task['status']>> = {
  task_completed: 'completed',
  task_failed: 'failed',
  task_timed_out: 'timed_out',
  task_cancelled: 'cancelled',
};

function withTask(state: ConversationState, type: string, data: Json): ConversationState {
  const id = stringOf(data['task_id']);
  if (id === undefined) return state;
  const known: Task = state.tasks.get(id) ?? {
    description: '',
    model: undefined,
    status: 'running',
    steps: [],
    tokens: undefined,
  };
  const usage = isRecord(data['usage']) ? data['usage'] : {};
  const task: Task = {
    description: stringOf(data['description']) ?? known.description,
    model: stringOf(data['model_name']) ?? known.model,
    status: endings[type] ?? 'running',
    steps: type === 'task_running' ? withStep(known.steps, data) : known.steps,
    tokens: numberOf(usage['total_tokens']) ?? known.tokens,
  };
  return { ...state, tasks: new Map(state.tasks).set(id, task) };
}

/** A step comes again, under the same number, when the stream is read from the start. */
function withStep(steps: readonly TaskStep[], data: Json): readonly TaskStep[] {
  const message = isRecord(data['message']) ? data['message'] : {};
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  const named = calls.map((call: unknown) => (isRecord(call) ? (stringOf(call['name']) ?? '') : ''));
  const step: TaskStep = {
    index: numberOf(data['message_index']) ?? steps.length + 1,
    text: textOf(message['content']).slice(0, MAX_STEP_CHARS),
    tools: message['type'] === 'tool' ? [stringOf(message['name']) ?? ''] : named,
  };
  const others = steps.filter(({ index }) => index !== step.index);
  return [...others, step].toSorted((one, other) => one.index - other.index).slice(-MAX_STEPS);
}
