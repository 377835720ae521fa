import { AppError, type CancelAction, type HumanMessage, type RunKwargs } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { AdmitRequest } from '@caribou/state';
import { offeredRun } from '../../../apps/gateway/src/runs/turn-dispatch.js';
import type { Plan, PlannedCall } from '../virtual/model.js';
import { gatewayPorts } from './processes.js';
import type { Random } from '../virtual/random.js';
import type { SimProcess } from '../virtual/scheduler.js';
import type { World } from './world.js';

const USERS = ['default', 'other'];
/** A client repeats a request without an answer after this long. */
const ASK_AGAIN_MS = 8_000;
/** The lifetime of an idempotency key; a later repetition would create another run. */
const GIVE_UP_MS = 24 * 3_600_000;

/** The requests of clients in one history. */
export class Workload {
  readonly threads: readonly ThreadKey[];
  /** Requests without an answer yet. */
  open = 0;

  /** @param steers whether messages are given to runs under way */
  constructor(
    private readonly world: World,
    private readonly steers = false,
  ) {
    const { random } = world;
    this.threads = Array.from({ length: world.sizes.crowded ? 2 : random.whole(1, 2) }, () => ({
      userId: random.pick(USERS),
      threadId: random.uuid(),
    }));
  }

  /** Sends the runs, and some cancels, over the first half minute. */
  start(): void {
    const { random } = this.world;
    for (const thread of this.threads)
      if (random.chance(0.5)) this.insist(0, 'create', (gateway) => this.create(gateway, thread));
    const runs = this.world.sizes.crowded ? 4 : random.whole(1, 4);
    for (let count = 0; count < runs; count += 1) {
      const thread = random.pick(this.threads);
      const { idempotency, ...plain } = admission(random, thread, this.world);
      // Only one without a key may be admitted by a runner.
      const request: AdmitRequest = { ...plain, ...(random.chance(0.5) && idempotency ? { idempotency } : {}) };
      const atMs = random.between(0, 15_000);
      this.insist(atMs, 'admit', (gateway) => this.admit(gateway, request));
      if (this.steers) this.steer(thread, atMs);
      if (!random.chance(0.2)) continue;
      const action = random.pick<CancelAction>(['interrupt', 'rollback']);
      this.insist(atMs + random.between(500, 20_000), 'cancel', (gateway) => this.cancel(gateway, request, action));
    }
  }

  /** Gives up to two messages to the thread's run, each with an Idempotency-Key or without. */
  private steer(thread: ThreadKey, fromMs: number): void {
    const { random } = this.world;
    for (let count = random.whole(0, 2); count > 0; count -= 1) {
      const { idempotency, ...request } = admission(random, thread, this.world);
      const input = { messages: [humanMessage(random.uuid(), 'and this')] };
      const steering: AdmitRequest = {
        ...request,
        kwargs: { ...request.kwargs, input },
        multitaskStrategy: 'steer',
        ...(random.chance(0.5) && idempotency !== undefined ? { idempotency } : {}),
      };
      this.insist(fromMs + random.between(0, 20_000), 'steer', (gateway) => this.admit(gateway, steering));
    }
  }

  /** Sends a request to some gateway, and to another one without an answer. */
  private insist(afterMs: number, what: string, ask: (gateway: SimProcess) => Promise<void>): void {
    const { scheduler } = this.world;
    this.open += 1;
    let answered = false;
    const onDone = (): void => {
      if (!answered) this.open -= 1;
      answered = true;
    };
    let givesUpAtMs = Infinity;
    const attempt = (): void => {
      if (scheduler.nowMs > givesUpAtMs) onDone();
      if (answered) return;
      givesUpAtMs = Math.min(givesUpAtMs, scheduler.nowMs + GIVE_UP_MS);
      scheduler.after(ASK_AGAIN_MS + this.world.downForMs, undefined, `${what} again?`, attempt);
      const gateway = this.world.any('gateway');
      if (gateway === undefined) return;
      scheduler.enter(
        gateway,
        () => void ask(gateway).then(onDone, (error: unknown) => this.refused(what, error, onDone)),
      );
    };
    scheduler.after(afterMs, undefined, what, attempt);
  }

  /** A refusal is an answer; the effect of a failure is unknown, so the request is repeated. */
  private refused(what: string, error: unknown, done: () => void): void {
    if (error instanceof AppError && error.code !== 'unavailable' && error.code !== 'internal') done();
    else if (!(error instanceof AppError) || error.code === 'internal') this.world.defect(what, error);
  }

  private async create(gateway: SimProcess, thread: ThreadKey): Promise<void> {
    await gatewayPorts(this.world, gateway).threads.createThread(thread, {});
  }

  private async admit(gateway: SimProcess, request: AdmitRequest): Promise<void> {
    const { threads, dispatch } = gatewayPorts(this.world, gateway);
    const admitted = await threads.admit(request);
    const { run, cancelled, repeated, isUnderWay } = admitted;
    for (const runId of cancelled) this.world.bus.publishCancel(gateway, runId);
    const { userId, threadId } = request;
    if (!repeated && !isUnderWay) void dispatch({ userId, threadId }, offeredRun(run, admitted));
  }

  private async cancel(gateway: SimProcess, run: AdmitRequest, action: CancelAction): Promise<void> {
    const { threads } = gatewayPorts(this.world, gateway);
    const { broadcast } = await threads.requestCancel(run, run.runId, action);
    if (broadcast) this.world.bus.publishCancel(gateway, run.runId);
  }
}

function admission(random: Random, thread: ThreadKey, world: World): AdmitRequest {
  const runId = random.uuid();
  return {
    ...thread,
    runId,
    assistantId: 'lead_agent',
    metadata: {},
    kwargs: kwargsOf(random, world),
    ifNotExists: 'create',
    multitaskStrategy: random.chance(0.8) ? 'enqueue' : random.pick(['interrupt', 'rollback', 'reject']),
    threadMetadata: {},
    idempotency: { key: runId, bodyHash: runId },
  };
}

function kwargsOf(random: Random, { hasTasks, sizes }: World): RunKwargs {
  const plan = planOf(random, 3, { hasTasks, crowded: sizes.crowded });
  return {
    input: { messages: [humanMessage(random.uuid(), JSON.stringify(plan))] },
    context: {},
    recursion_limit: 25,
    stream_mode: ['values'],
    stream_subgraphs: false,
    on_disconnect: 'continue',
    temporary: false,
  };
}

const humanMessage = (id: string, content: string): HumanMessage => ({
  ...{ type: 'human', id, content },
  ...{ additional_kwargs: {}, response_metadata: {} },
});

interface Kind {
  readonly hasTasks: boolean;
  readonly crowded: boolean;
}

const planOf = (random: Random, maxTurns: number, kind: Kind): Plan => ({
  turns: Array.from({ length: random.whole(0, maxTurns) }, () => callsOf(random, kind)),
});

const callsOf = (random: Random, kind: Kind): readonly PlannedCall[] =>
  Array.from({ length: random.whole(1, kind.hasTasks ? 3 : 2) }, () =>
    kind.hasTasks && random.chance(0.5)
      ? { tool: 'task', plan: planOf(random, 2, { ...kind, hasTasks: false }) }
      : { tool: random.pick(['bash', 'effect'] as const), ms: durationOf(random, kind) },
  );

function durationOf(random: Random, { crowded }: Kind): number {
  if (crowded && random.chance(0.5)) return random.whole(20_000, 90_000);
  return random.chance(0.2) ? random.whole(4_000, 20_000) : random.whole(1, 2_000);
}
