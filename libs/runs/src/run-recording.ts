import { type RunRecord, omitUndefined } from '@caribou/contracts';
import { ChainRecorder, type ChainSummary, type Clock } from '@caribou/core';
import { StepRecorder } from './traces/step-recorder.js';
import type { TraceSpan, Tracing } from '@caribou/observability';

export interface RecordingPorts {
  readonly clock: Clock;
  readonly tracing: Tracing;
  /** Whether what a run does is stored in its trace. */
  readonly storesTraces?: boolean;
}

/** The recording of one attempt at a run besides its events: the work of its chain, and its part of the trace. */
export interface RunRecording {
  readonly recorder: ChainRecorder;
  /** Records the steps for the run's trace; absent when none is stored. */
  readonly steps?: StepRecorder;
  /** The run's span; absent when traces are off. */
  readonly span?: TraceSpan;
  /** Ends the run's span; returns what the chain did, for the line in the log that says how the run ended. */
  end(outcome: string, error?: unknown): EndedChain;
}

/** What the middlewares of a run took, in milliseconds, and decided. */
export interface EndedChain {
  readonly hooksMs: number;
  readonly chain: ChainSummary['chain'];
}

/** Starts the recording; the run's span is a child of the request that admitted it. */
export function recordRun({ clock, tracing, storesTraces = false }: RecordingPorts, run: RunRecord): RunRecording {
  const span = tracing.on ? runSpan(tracing, run) : undefined;
  const recorder = new ChainRecorder(clock);
  return {
    recorder,
    ...(storesTraces ? { steps: new StepRecorder(recorder) } : {}),
    ...omitUndefined({ span }),
    end: (outcome, error) => {
      span?.end({ fields: { 'caribou.outcome': outcome }, ...omitUndefined({ error }) });
      const { durationMs: hooksMs, chain } = recorder.summary();
      return { hooksMs, chain };
    },
  };
}

const runSpan = (tracing: Tracing, run: RunRecord): TraceSpan =>
  tracing.start(`invoke_agent ${run.assistant_id}`, {
    kind: 'consumer',
    parent: run.traceparent,
    fields: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': run.assistant_id,
      'gen_ai.conversation.id': run.thread_id,
      'caribou.run_id': run.run_id,
      'caribou.attempt': run.attempt,
    },
  });
