import type { TraceEntry } from '../../api/trace.js';

/** What a run took, in milliseconds, and how often it did what. */
export interface TraceSummary {
  /** From the admission to the end; null while there is no end. */
  readonly totalMs: number | null;
  readonly queuedMs: number | null;
  readonly modelMs: number;
  readonly toolMs: number;
  readonly hookMs: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly takeovers: number;
  /** Processes that have executed it, in order, each once. */
  readonly processes: readonly string[];
}

export function summarizeTrace(entries: readonly TraceEntry[]): TraceSummary {
  const ofType = <Type extends TraceEntry['type']>(...types: readonly Type[]) =>
    entries.filter((entry): entry is Extract<TraceEntry, { type: Type }> =>
      (types as readonly string[]).includes(entry.type),
    );
  const admitted = ofType('admitted')[0];
  const ended = ofType('ended').at(-1);
  const models = ofType('model_call');
  const tools = ofType('tool_call', 'task');
  return {
    totalMs: admitted === undefined || ended === undefined ? null : Date.parse(ended.at) - Date.parse(admitted.at),
    queuedMs: ofType('claimed').find(({ queued_ms: queuedMs }) => queuedMs !== null)?.queued_ms ?? null,
    modelMs: sumOf(models.map((call) => call.duration_ms)),
    toolMs: sumOf(tools.map((call) => call.duration_ms)),
    hookMs: sumOf(ofType('hooks').map((hooks) => hooks.duration_ms)),
    modelCalls: models.length,
    toolCalls: tools.length,
    takeovers: ofType('taken_over').length,
    processes: [...new Set(ofType('claimed', 'taken_over').map(({ process }) => process))],
  };
}

const sumOf = (times: readonly (number | null)[]): number => times.reduce((sum: number, ms) => sum + (ms ?? 0), 0);
