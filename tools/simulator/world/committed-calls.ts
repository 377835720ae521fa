import type { AiMessage } from '@caribou/contracts';
import { ownUsageOf } from '@caribou/contracts';
import { type RedisConnection, redisUsageLedger } from '@caribou/state';
import type { CommitRequest, FinishRequest, RunLease } from '@caribou/state';
import { simulatedLedger } from './simulated-ledger.js';
import type { Scheduler } from '../virtual/scheduler.js';

const DAY_MS = 86_400_000;

/** The model calls of the commits that the store has executed, by user. A call is known by its number (`planModel`). */
export class CommittedCalls {
  private readonly byUser = new Map<string, Set<number>>();

  /** Records an executed commit or finish; one that is repeated has the same calls. */
  record(operation: string, { userId }: RunLease, request: CommitRequest | FinishRequest): void {
    const usage =
      operation === 'runs.commit' ? (request as CommitRequest).usage : (request as FinishRequest).commit?.usage;
    for (const { caller, inputTokens } of usage?.calls ?? [])
      if (caller !== 'subagent') this.of(userId).add(inputTokens);
  }

  /** What is wrong with the ledger: it has each of the calls once. */
  async violations(redis: RedisConnection, { wallMs, nowMs }: Scheduler): Promise<readonly string[]> {
    const firstMs = wallMs - nowMs - 2 * DAY_MS;
    const count = Math.ceil((wallMs - firstMs) / DAY_MS) + 2;
    const days = Array.from({ length: count }, (_, day) => new Date(firstMs + day * DAY_MS).toISOString().slice(0, 10));
    const rows = await redisUsageLedger(redis, simulatedLedger(redis)).read(days);
    const users = new Set([...this.byUser.keys(), ...rows.map(({ userId }) => userId)]);
    return [...users].flatMap((userId) => {
      const committed = this.of(userId);
      const own = rows.filter((row) => row.userId === userId);
      const entered = sumOf(own.map(({ calls }) => calls));
      const [numbers, expected] = [sumOf(own.map((row) => row.input_tokens)), sumOf([...committed])];
      if (entered === committed.size && numbers === expected) return [];
      return [
        `the ledger of ${userId} has ${entered} model calls (sum ${numbers}), committed were ${committed.size} (sum ${expected})`,
      ];
    });
  }

  /** What is wrong with a transcript: an answer that no commit has counted. */
  uncounted(userId: string, answers: readonly AiMessage[]): readonly string[] {
    return answers.flatMap((answer) => {
      const call = ownUsageOf(answer)?.input_tokens;
      if (call === undefined || this.of(userId).has(call)) return [];
      return [`the answer ${answer.id} of model call ${call} is in a transcript, and no commit counted it`];
    });
  }

  private of(userId: string): Set<number> {
    const known = this.byUser.get(userId);
    if (known !== undefined) return known;
    const fresh = new Set<number>();
    this.byUser.set(userId, fresh);
    return fresh;
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);
