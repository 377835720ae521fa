import { isDeepStrictEqual } from 'node:util';
import { type AiMessage, isTerminal, type Message, NotFoundError, type RunRecord } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import {
  type RunEventLog,
  type ThreadStore,
  type RedisConnection,
  redisEventLog,
  redisThreadStore,
  taskPart,
} from '@caribou/state';
import { type Accepted, canonical } from '../world/history.js';
import { findLostMessages } from './given-messages.js';
import { findLeftovers, takeoverTime, findRepeatedTaskEvents } from './at-rest.js';
import type { VirtualRedis } from '../virtual/virtual-redis.js';
import type { Workload } from '../world/workload.js';
import type { World } from '../world/world.js';

const MAX_EVENTS = 10_000;

/** The checks at the end of a history, when all work has ended. */
export async function violationsOf(world: World, workload: Workload, redis: VirtualRedis): Promise<readonly string[]> {
  const { checker } = redis;
  const check = new Check(world, storesOf(checker));
  const tasks = new Check(world, storesOf(taskPart(checker)));
  // A failover may lose accepted runs; the remaining guarantee is that no command is executed twice.
  if (!world.faults.on.has('failover')) {
    for (const [runId, accepted] of world.history.accepted)
      await (accepted.parentRunId === undefined ? check : tasks).run(accepted, runId);
    check.found.push(...(await findLeftovers(world, workload, checker)), ...takeoverTime(world));
    const { violations, slots, running, modelCalls } = world.history;
    check.found.push(...(await modelCalls.violations(checker, world.scheduler)));
    check.found.push(...violations, ...slots.violations, ...running.violations, ...world.ledger.repeatedElsewhere);
  }
  for (const thread of workload.threads) await check.thread(thread);
  for (const accepted of world.history.accepted.values())
    if (accepted.parentRunId !== undefined) await tasks.thread(accepted);
  return [...check.found, ...tasks.found, ...world.ledger.violations, ...world.defects];
}

interface Stores {
  readonly redis: RedisConnection;
  readonly threads: ThreadStore;
  readonly log: RunEventLog;
}

const storesOf = (redis: RedisConnection): Stores => ({
  redis,
  threads: redisThreadStore(redis),
  log: redisEventLog(redis),
});

/** The runs and transcripts of one part of the store. */
class Check {
  readonly found: string[] = [];
  private readonly failed = new Set<string>();

  constructor(
    private readonly world: World,
    private readonly stores: Stores,
  ) {}

  async run(thread: Accepted, runId: string): Promise<void> {
    const record = await this.recordOf(thread, runId);
    if (record === undefined) {
      // Nothing stays of a task whose parent is gone.
      if (!this.world.history.rolledBack.has(thread.parentRunId ?? runId)) this.found.push(`run ${runId} is gone`);
      return;
    }
    if (record.status !== 'success') this.failed.add(thread.threadId);
    if (!isTerminal(record.status)) this.found.push(`run ${runId} is ${record.status} at the end`);
    const { on } = this.world.faults;
    // A task whose slot lapsed by a jump may be given to another pool, which begins it again.
    const isTask = thread.parentRunId !== undefined;
    if (!isTask && on.size === 1 && on.has('jump') && record.attempt > 1)
      this.found.push(`run ${runId} was started ${record.attempt} times, and nothing went wrong but the wall clock`);
    await this.events(thread, record);
  }

  private async events({ userId }: ThreadKey, { run_id: runId, status }: RunRecord): Promise<void> {
    const { events } = await this.stores.log.read(userId, runId, { after: 0, limit: MAX_EVENTS });
    events.forEach(({ seq, event, follows = seq - 1 }, index) => {
      const before = events[index - 1]?.seq ?? 0;
      if (follows !== before) this.found.push(`run ${runId}: event ${seq} comes after event ${before} in its log`);
      const sent = this.world.history.findPublished(runId, seq);
      if (sent !== undefined && !isDeepStrictEqual(sent, event) && canonical(sent) !== canonical(event))
        this.found.push(`run ${runId}: event ${seq} was sent as ${canonical(sent)}`);
    });
    const ends = events.filter(({ event }) => event.kind === 'end').length;
    if (ends !== 1 || events.at(-1)?.event.kind !== 'end')
      this.found.push(
        `run ${runId} (${status}): ${ends} terminal events, the last is ${events.at(-1)?.event.kind ?? 'none'}`,
      );
    this.found.push(...findRepeatedTaskEvents(runId, events));
    const attempts = events.flatMap(({ event }) => (event.kind === 'run.start' ? [event.attempt] : []));
    if (attempts.some((attempt, index) => attempt < (attempts[index - 1] ?? 0)))
      this.found.push(`run ${runId}: attempts in its log: ${attempts.join(', ')}`);
  }

  /** The transcript is one that a provider accepts, and has the outcome of each call. */
  async thread(thread: ThreadKey): Promise<void> {
    const head = await this.stores.threads.head(thread).catch((error: unknown) => {
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
      else if (call.name === 'task') asked.delete(message.tool_call_id);
      else this.answer(call.args, message);
      asked.delete(message.tool_call_id);
    }
    if (asked.size > 0 && !this.failed.has(thread.threadId) && !this.world.faults.on.has('failover'))
      this.found.push(`thread ${thread.threadId}: calls without an answer: ${[...asked.keys()].join(', ')}`);
    const answers = messages.filter((message): message is AiMessage => message.type === 'ai');
    this.found.push(...this.world.history.modelCalls.uncounted(thread.userId, answers));
    await this.order(thread, messages);
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

  private async order(thread: ThreadKey, messages: readonly Message[]): Promise<void> {
    if (this.world.faults.on.has('failover')) return;
    const { threadId } = thread;
    this.found.push(...(await findLostMessages(this.world.history, thread, messages, this.stores)));
    const admitted = [...this.world.history.accepted]
      .filter(([, of]) => of.threadId === threadId)
      .map(([runId]) => runId);
    const claimed = this.world.history.claimsOf(threadId);
    const expected = admitted.filter((runId) => claimed.includes(runId));
    if (expected.join() !== claimed.join())
      this.found.push(`thread ${threadId}: admitted ${expected.join()}, first claimed ${claimed.join()}`);
  }

  private async recordOf(thread: ThreadKey, runId: string): Promise<RunRecord | undefined> {
    try {
      return await this.stores.threads.getRun(thread, runId);
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }
}
