import { isDeepStrictEqual } from 'node:util';
import { type AiMessage, isTerminal, type Message, NotFoundError, type RunRecord } from '@caribou/contracts';
import type { RunEventLog, ThreadKey, ThreadStore } from '@caribou/core';
import { type RedisConnection, redisEventLog, redisThreadStore } from '@caribou/state';
import { canonical } from './history.js';
import type { VirtualRedis } from './virtual-redis.js';
import type { Workload } from './workload.js';
import type { World } from './world.js';

const MAX_EVENTS = 10_000;

/** What is checked when a history is over, and everything is at rest. */
export async function violationsOf(world: World, workload: Workload, redis: VirtualRedis): Promise<readonly string[]> {
  const { checker } = redis;
  const check = new Check(world, workload, redisThreadStore(checker), redisEventLog(checker));
  // A failover may forget what was accepted; what remains promised is that no command is executed twice.
  if (!world.faults.on.has('failover')) {
    for (const [runId, threadId] of world.history.accepted) await check.run({ userId: 'default', threadId }, runId);
    await check.leftovers(checker);
    check.found.push(...world.history.violations, ...world.ledger.repeatedCalls);
  }
  for (const thread of workload.threads) await check.thread(thread);
  return [...check.found, ...world.ledger.violations, ...world.defects];
}

class Check {
  readonly found: string[] = [];
  private readonly failed = new Set<string>();

  constructor(
    private readonly world: World,
    private readonly workload: Workload,
    private readonly threads: ThreadStore,
    private readonly log: RunEventLog,
  ) {}

  async run(thread: ThreadKey, runId: string): Promise<void> {
    const record = await this.recordOf(thread, runId);
    if (record === undefined) {
      if (!this.world.history.rolledBack.has(runId)) this.found.push(`run ${runId} is gone`);
      return;
    }
    if (record.status !== 'success') this.failed.add(thread.threadId);
    if (!isTerminal(record.status)) this.found.push(`run ${runId} is ${record.status} at the end`);
    const { on } = this.world.faults;
    if (on.size === 1 && on.has('jump') && record.attempt > 1)
      this.found.push(`run ${runId} was started ${record.attempt} times, and nothing went wrong but the wall clock`);
    await this.events(thread, record);
  }

  private async events({ userId }: ThreadKey, { run_id: runId, status }: RunRecord): Promise<void> {
    const { events } = await this.log.read(userId, runId, { after: 0, limit: MAX_EVENTS });
    events.forEach(({ seq, event }, index) => {
      if (seq !== index + 1) this.found.push(`run ${runId}: event ${seq} is number ${index + 1} in its log`);
      const sent = this.world.history.publishedAs(runId, seq);
      if (sent !== undefined && !isDeepStrictEqual(sent, event) && canonical(sent) !== canonical(event))
        this.found.push(`run ${runId}: event ${seq} was sent as ${canonical(sent)}`);
    });
    const ends = events.filter(({ event }) => event.kind === 'end').length;
    if (ends !== 1 || events.at(-1)?.event.kind !== 'end')
      this.found.push(
        `run ${runId} (${status}): ${ends} terminal events, the last is ${events.at(-1)?.event.kind ?? 'none'}`,
      );
    const attempts = events.flatMap(({ event }) => (event.kind === 'run.start' ? [event.attempt] : []));
    if (attempts.some((attempt, index) => attempt < (attempts[index - 1] ?? 0)))
      this.found.push(`run ${runId}: attempts in its log: ${attempts.join(', ')}`);
  }

  /** The transcript is one that a provider takes, and says of each call what happened. */
  async thread(thread: ThreadKey): Promise<void> {
    const head = await this.threads.head(thread).catch((error: unknown) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    });
    const messages = head?.state.messages ?? [];
    const asked = new Map<string, AiMessage['tool_calls'][number]>();
    for (const message of messages) {
      if (message.type === 'ai') for (const call of message.tool_calls) asked.set(call.id, call);
      if (message.type !== 'tool') continue;
      const call = asked.get(message.tool_call_id);
      if (call === undefined)
        this.found.push(`thread ${thread.threadId}: '${message.tool_call_id}' is answered, but not open`);
      else this.answer(call.args, message);
      asked.delete(message.tool_call_id);
    }
    if (asked.size > 0 && !this.failed.has(thread.threadId) && !this.world.faults.on.has('failover'))
      this.found.push(`thread ${thread.threadId}: calls without an answer: ${[...asked.keys()].join(', ')}`);
    this.order(thread);
  }

  private answer(args: Readonly<Record<string, unknown>>, message: Extract<Message, { type: 'tool' }>): void {
    const command = typeof args['command'] === 'string' ? args['command'].split(' ')[1] : args['token'];
    const count = this.world.ledger.countOf(String(command));
    const text = JSON.stringify(message.content);
    const mayBeEither = /unknown|not known|cancelled|interrupted|stopped/i.test(text);
    if (message.status === 'success' && count === 0)
      this.found.push(`the transcript has a result without effect: ${text}`);
    if (message.status === 'error' && !mayBeEither && count > 0)
      this.found.push(`the transcript says that a call failed which had its effect: ${text}`);
  }

  private order({ threadId }: ThreadKey): void {
    if (this.world.faults.on.has('failover')) return;
    const admitted = [...this.world.history.accepted].filter(([, of]) => of === threadId).map(([runId]) => runId);
    const claimed = this.world.history.claimsOf(threadId);
    const expected = admitted.filter((runId) => claimed.includes(runId));
    if (expected.join() !== claimed.join())
      this.found.push(`thread ${threadId}: admitted ${expected.join()}, first claimed ${claimed.join()}`);
  }

  /** Nothing is pending, and nobody holds anything. */
  async leftovers(redis: RedisConnection): Promise<void> {
    const { keys } = redis;
    const pending = await redis.use((client) => client.zcard(keys.pending));
    if (pending > 0) this.found.push(`${pending} threads are still pending`);
    for (const thread of this.workload.threads) {
      const lease = await redis.use((client) => client.get(keys.thread(thread).lease));
      if (lease !== null) this.found.push(`thread ${thread.threadId} still has a lease: ${lease}`);
    }
    const inFlight = await redis.use((client) => client.scard(keys.thread(this.workload.threads[0] ?? none).inFlight));
    if (inFlight > 0) this.found.push(`${inFlight} runs still count as in flight`);
    if (this.world.wakes.waiting > 0) this.found.push(`${this.world.wakes.waiting} wakes are still waiting`);
  }

  private async recordOf(thread: ThreadKey, runId: string): Promise<RunRecord | undefined> {
    try {
      return await this.threads.getRun(thread, runId);
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }
}

const none: ThreadKey = { userId: 'default', threadId: 'none' };
