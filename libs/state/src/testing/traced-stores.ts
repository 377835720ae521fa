import type { StepTrace, ThreadKey, TracedModelCall, TracedRequest } from '@caribou/core';
import { admission, ai, human, type StoreFixture } from '@caribou/testing';
import type { ClaimResult, RunStore } from '../ports/run-store.js';
import type { RunTraces } from '../traces/traces-port.js';
import type { ThreadStore } from '../ports/thread-store.js';
import { redisRunStore } from '../runs/run-store.js';
import { redisThreadStore } from '../thread-store.js';
import { redisRunTraces } from '../traces/run-traces.js';
import { traceSettings } from '../traces/trace-settings.js';

export const RETENTION_MS = 3 * 24 * 3_600_000;
export const GATEWAY = 'gateway@gateway-1~12~m1abcdefg1234';
export const RUNNER = 'agent-runner@host-3~4711~m1abcdefg12ab';

export type ClaimedRun = Extract<ClaimResult, { kind: 'run' }>;

export interface TracedStores {
  readonly threads: ThreadStore;
  readonly traces: RunTraces;
  /** The store of a runner. */
  runner(processId?: string): RunStore;
  admit(thread: ThreadKey, over?: Partial<Parameters<ThreadStore['admit']>[0]>): ReturnType<ThreadStore['admit']>;
}

/** Stores that write traces, on the Redis of a fixture. */
export function tracedStores({ redis }: StoreFixture, leaseMs = 60_000): TracedStores {
  const trace = (process: string) => {
    const settings = traceSettings(redis, { enabled: true, retentionMs: RETENTION_MS }, process);
    return settings === undefined ? {} : { trace: settings };
  };
  const threads = redisThreadStore(redis, { leaseMs, ...trace(GATEWAY) });
  return {
    threads,
    traces: redisRunTraces(redis),
    runner: (processId = RUNNER) =>
      redisRunStore(redis, { leaseMs, process: { processId, leaseMs: 60_000 }, ...trace(processId) }),
    admit: (thread, over = {}) => threads.admit({ ...admission(thread), ...over }),
  };
}

/** Claims the run of a thread. */
export async function claimRun(store: RunStore, thread: ThreadKey, claimId = 'c1'): Promise<ClaimedRun> {
  const claimed = await store.claim(thread, claimId);
  if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
  return claimed;
}

export const requestOf = (over: Partial<TracedRequest> = {}): TracedRequest => ({
  parameters: { thinking_enabled: false },
  system: { hash: 'systemsystem1234', text: 'You are a careful assistant. '.repeat(300) },
  tools: { hash: 'toolstoolstools1', text: JSON.stringify([{ name: 'bash', description: 'runs', parameters: {} }]) },
  messages: [
    { hash: 'contextcontext12', text: JSON.stringify(human('Today is Monday. '.repeat(40))) },
    { isBefore: false, from: 0, count: 1 },
  ],
  ...over,
});

export const callOf = (over: Partial<TracedModelCall> = {}): TracedModelCall => ({
  ...{ atMs: 1_000, caller: 'lead_agent', attempt: 1, because: 'first', model: 'caribou-demo', outcome: 'ok' },
  ...{ providerModel: 'gpt-5.1-2026-01-01', provider: 'api.openai.com/v1', firstTokenMs: 412, durationMs: 1_833 },
  ...{
    tokens: { inputTokens: 9_120, outputTokens: 214 },
    finishReason: 'stop',
    messageId: '01947a2c-5b3e-7d10-8a4f-3f2504e04f89',
  },
  request: requestOf(),
  ...over,
});

export const stepOf = (over: Partial<StepTrace> = {}): StepTrace => ({
  ...{ nowMs: 3_000, calls: [callOf()], tools: [], dropped: 0, lastCommitMs: 2 },
  hooks: { durationMs: 3.1, parts: [{ middleware: 'title', ms: 1.4, calls: 1, decisions: ['cut'] }] },
  ...over,
});

export const NO_CALLS: StepTrace = { nowMs: 3_000, calls: [], tools: [], dropped: 0 };

/** A plain turn as gateway and runner do it: the input, and the answer with the end. Returns the run's id. */
export async function plainTurn(stores: TracedStores, thread: ThreadKey, step = stepOf()): Promise<string> {
  const { run } = await stores.admit(thread);
  const runner = stores.runner();
  const { lease, head } = await claimRun(runner, thread);
  const input = { messages: [...head.state.messages, human('question')] };
  const first = await runner.commit(lease, {
    ...{ head, state: { ...head.state, ...input }, next: ['model_request'], source: 'input', step: 0, events: [] },
    inputCommitted: true,
    trace: NO_CALLS,
  });
  const messages = [...first.head.state.messages, ai('answer')];
  const last = {
    head: first.head,
    state: { ...first.head.state, messages },
    next: [],
    source: 'loop',
    step: 1,
    events: [],
  } as const;
  await runner.finish(lease, { status: 'success', events: [], commit: last, trace: step });
  return run.run_id;
}
