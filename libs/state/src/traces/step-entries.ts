import type { TraceEntry } from '@caribou/contracts';
import type { CallText, RequestText, StepText, ToolText } from './step-text.js';

/** An entry before it has its number. */
export type Unnumbered = TraceEntry extends infer Entry
  ? Entry extends TraceEntry
    ? Omit<Entry, 'seq'>
    : never
  : never;

/** An entry, for a model call with its request. */
export interface FoundEntry {
  readonly entry: Unnumbered;
  readonly request?: RequestText;
}

export const isoOf = (ms: number): string => new Date(ms).toISOString();

/** The entries of a step that ended at `ms`: its calls and tools in the order in which they began, then the hooks. */
export function stepEntries(step: StepText, ms: number): readonly FoundEntry[] {
  const calls = (step.c ?? []).map((call) => ({ begin: ms - call.a, found: [callEntry(call, ms, step.n ?? 0)] }));
  const tools = (step.t ?? []).map((tool) => ({ begin: ms - tool.a, found: toolEntries(tool, ms, step.n ?? 0) }));
  const ordered = [...calls, ...tools].sort((one, other) => one.begin - other.begin);
  const dropped = step.o ?? 0;
  return [
    ...ordered.flatMap(({ found }) => found),
    ...(step.h === undefined ? [] : [{ entry: hooksEntry(step.h, ms, step.n ?? 0) }]),
    ...(dropped === 0 ? [] : [{ entry: { type: 'note', at: isoOf(ms), note: 'step_too_large', dropped } as const }]),
  ];
}

const orNull = <Value>(value: Value | undefined): Value | null => value ?? null;

function callEntry(call: CallText, ms: number, step: number): FoundEntry {
  const entry = {
    ...({ type: 'model_call', at: isoOf(ms - call.a), call: null } as const),
    ...{ caller: call.w ?? 'lead_agent', step, attempt: call.k ?? 1, because: call.y ?? 'first' },
    model: call.m,
    provider_model: call.v ?? (call.u === undefined ? null : call.m),
    provider: orNull(call.u),
    outcome: call.z ?? 'ok',
    first_token_ms: orNull(call.f),
    duration_ms: orNull(call.d),
    input_tokens: orNull(call.i),
    output_tokens: orNull(call.o),
    cached_input_tokens: orNull(call.e),
    reasoning_tokens: orNull(call.r),
    finish_reason: orNull(call.s),
    message_id: orNull(call.g),
    error: failureOf(call.x),
  };
  return call.q === undefined ? { entry } : { entry, request: call.q };
}

function failureOf(error: CallText['x']) {
  if (error === undefined) return null;
  const [name, message, reason, status] = error;
  return { name, message, reason, status };
}

function toolEntries(tool: ToolText, ms: number, step: number): readonly FoundEntry[] {
  const at = isoOf(ms - tool.a);
  const outcome = tool.z ?? 'ok';
  const called = {
    ...({ type: 'tool_call', at, step, name: tool.m, tool_call_id: tool.g, outcome } as const),
    duration_ms: tool.d,
    error: tool.x ?? null,
  };
  if (tool.m !== 'task') return [{ entry: called }];
  const task = {
    type: 'task',
    at,
    task_id: tool.g,
    subagent_type: tool.k ?? null,
    duration_ms: tool.d,
    outcome,
  } as const;
  return [{ entry: called }, { entry: task }];
}

const hooksEntry = ([duration, parts]: NonNullable<StepText['h']>, ms: number, step: number) =>
  ({
    type: 'hooks',
    at: isoOf(ms),
    step,
    duration_ms: duration,
    parts: parts.map(([middleware, duration_ms, calls, ...decisions]) => ({
      middleware,
      duration_ms,
      calls,
      decisions,
    })),
  }) as const;
