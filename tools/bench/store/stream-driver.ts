import { monitorEventLoopDelay } from 'node:perf_hooks';
import { newId, type NumberedEvent, type RunEvent } from '@caribou/contracts';
import { type RunContext, silentLogger, systemClock, type ThreadKey } from '@caribou/core';
import { createMetrics, noopTracing } from '@caribou/observability';
import { type AgentLoop, RunExecutor, RunRegistry } from '@caribou/runs';
import { createRedis, redisRunStore, redisThreadStore, type RunStore, type ThreadStore } from '@caribou/state';
import { inParallel, median, quantile } from '../sample.js';

/**
 * A process that streams into the store as an agent-runner does, without clients, gateway, bus and model: runs are
 * admitted and claimed, then an agent emits tokens at a steady pace in each of them, and what the event writer would
 * publish is only measured. On the message `go` the streams begin; once they are in the log it reports `streamed`.
 *
 *     node stream-driver.js <redis url> <streams> <tokens a second> <seconds>
 */
const [redisUrl = '', ...counts] = process.argv.slice(2);
const [streams = 0, tokensPerSecond = 0, seconds = 0] = counts.map(Number);
const everyMs = 1000 / tokensPerSecond;

/** All tokens have the same length, so that the length of a joined event says how many are in it. */
const TOKEN = 'a token ';
/** Fewer than a user may have in flight. */
const STREAMS_PER_USER = 100;
const OPEN_TIMEOUT_MS = 10_000;
/** How long tokens may be late before the rest is given up. */
const MAX_LATE_MS = 15_000;
/** The monitor of the event loop reports this much for a loop without any delay. */
const LOOP_SAMPLE_MS = 5;
const CLOCKS = { leaseMs: 10_000, renewMs: 3_000, eventWindowMs: 100 };

/** How late tokens reached some point, measured from the moment they were due. */
class TokenDelays {
  readonly delaysMs: number[] = [];
  /** For each run, when its tokens that have not arrived yet were due. */
  private readonly dueMs = new Map<string, number[]>();

  expect(runId: string, atMs: number): void {
    const due = this.dueMs.get(runId);
    if (due === undefined) this.dueMs.set(runId, [atMs]);
    else due.push(atMs);
  }

  arrive(runId: string, events: readonly RunEvent[]): void {
    const nowMs = performance.now();
    for (const event of events) {
      if (event.kind !== 'message.delta') continue;
      const due = this.dueMs.get(runId)?.splice(0, event.content.length / TOKEN.length) ?? [];
      for (const atMs of due) this.delaysMs.push(nowMs - atMs);
    }
  }

  spread() {
    return { p50: median(this.delaysMs), p99: quantile(this.delaysMs, 0.99) };
  }
}

const appendMs: number[] = [];
/** Tokens that were published, and tokens that are in the log. */
const published = new TokenDelays();
const logged = new TokenDelays();
let openStreams = 0;
let lostRuns = 0;
let begin: (startMs: number) => void = () => undefined;
const begun = new Promise<number>((resolve) => {
  begin = resolve;
});

const streamTokens: AgentLoop = async ({ run }) => {
  const index = openStreams;
  openStreams += 1;
  const startMs = (await begun) + (index * everyMs) / streams;
  for (let token = 0; token < seconds * tokensPerSecond; token += 1) {
    const atMs = startMs + token * everyMs;
    await new Promise((resolve) => setTimeout(resolve, Math.ceil(atMs - performance.now())));
    published.expect(run.runId, atMs);
    logged.expect(run.runId, atMs);
    await run.emit(deltaOf(run));
  }
  // The run is not ended: its finish script is no part of the measurement, and the process is stopped.
  return new Promise<never>(() => undefined);
};

const deltaOf = ({ runId }: RunContext): RunEvent => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: runId,
  content: TOKEN,
});

const measurePublished = (runId: string, events: readonly NumberedEvent[]): void =>
  published.arrive(
    runId,
    events.map(({ event }) => event),
  );

/** The executor of a runner on this store, with its event writer, its lease renewals and nothing else. */
function executorOn(store: RunStore): RunExecutor {
  const timed: RunStore['append'] = async (lease, events, options) => {
    const sentMs = performance.now();
    const appended = await store.append(lease, events, options);
    appendMs.push(performance.now() - sentMs);
    logged.arrive(lease.runId, events);
    return appended;
  };
  return new RunExecutor({
    store: { ...store, append: timed },
    publisher: { publishEvents: measurePublished },
    registry: new RunRegistry(),
    agent: streamTokens,
    clock: systemClock,
    logger: silentLogger,
    clocks: CLOCKS,
    metrics: createMetrics({ service: 'bench' }),
    tracing: noopTracing,
  });
}

/** Admits a run and starts it; resolves when its agent waits for the beginning. */
async function openStream(threads: ThreadStore, executor: RunExecutor, index: number): Promise<void> {
  const thread: ThreadKey = { userId: `user-${Math.floor(index / STREAMS_PER_USER)}`, threadId: newId() };
  await threads.admit({
    ...thread,
    runId: newId(),
    assistantId: 'lead_agent',
    metadata: {},
    kwargs: {
      input: {
        messages: [{ type: 'human', id: newId(), content: 'go', additional_kwargs: {}, response_metadata: {} }],
      },
      context: {},
      recursion_limit: 10,
      stream_mode: ['messages-tuple'],
      stream_subgraphs: false,
      on_disconnect: 'continue',
      temporary: false,
    },
    multitaskStrategy: 'reject',
    ifNotExists: 'create',
    threadMetadata: {},
  });
  const openBefore = openStreams;
  const lose = (): void => {
    lostRuns += 1;
  };
  executor.handle(thread, { onClaimed: () => undefined }).then(lose, lose);
  const deadlineMs = performance.now() + OPEN_TIMEOUT_MS;
  while (openStreams === openBefore) {
    if (performance.now() > deadlineMs) throw new Error(`stream ${index} was not opened in ${OPEN_TIMEOUT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function streamAll(): Promise<void> {
  const total = streams * seconds * tokensPerSecond;
  const loopDelay = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
  loopDelay.enable();
  const startMs = performance.now();
  begin(startMs);
  const deadlineMs = startMs + seconds * 1000 + MAX_LATE_MS;
  const isDone = (): boolean => Math.min(published.delaysMs.length, logged.delaysMs.length) >= total;
  while (!isDone() && performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  loopDelay.disable();
  const loopLateMs = (percentile: number): number => loopDelay.percentile(percentile) / 1e6 - LOOP_SAMPLE_MS;
  process.send?.({
    type: 'streamed',
    elapsedMs: performance.now() - startMs,
    tokens: logged.delaysMs.length,
    lostRuns,
    appends: appendMs.length,
    append: { p50: median(appendMs), p99: quantile(appendMs, 0.99) },
    published: published.spread(),
    logged: logged.spread(),
    loop: { p50: loopLateMs(50), p99: loopLateMs(99) },
  });
}

async function main(): Promise<void> {
  const redis = createRedis({ url: redisUrl });
  const executor = executorOn(redisRunStore(redis));
  const threads = redisThreadStore(redis);
  await inParallel(streams, 1, (index) => openStream(threads, executor, index));
  process.once('message', () => void streamAll());
  process.send?.({ type: 'ready', port: 0 });
}

void main();
