import type { RunLease } from '@caribou/state';
import type { VirtualRedis } from './virtual-redis.js';

/**
 * Defects that the product once had, or might get, injected at a port or parameter. The checker has to find each;
 * `docs/simulator.md` describes them.
 */
export const SABOTAGES = ['journal', 'memory', 'expiry', 'lease', 'takeover', 'slots', 'usage', 'share'] as const;
export type Sabotage = (typeof SABOTAGES)[number];

/** How long the journal stored its entries after their last write. */
const JOURNAL_MS = 24 * 3_600_000;

/** Operations that only the owner of a run may do; the first argument is its lease. */
export const OWNED: ReadonlySet<string> = new Set([
  ...['runs.renew', 'runs.append', 'runs.commit', 'runs.finish', 'runs.handOver'],
]);

/** A command that is about to be executed, or was. */
export interface Sabotaged {
  readonly operation: string;
  readonly args: readonly unknown[];
  readonly wallMs: number;
}

/** What the store answers instead of executing the command; undefined: it executes it. */
export async function answerInstead(
  sabotage: Sabotage | undefined,
  redis: VirtualRedis,
  { operation, args, wallMs }: Sabotaged,
): Promise<unknown> {
  if (sabotage !== 'lease' || !OWNED.has(operation)) return undefined;
  const { lease } = redis.checker.keys.thread(args[0] as RunLease);
  const isHeld = await redis.peek(wallMs, (client) => client.exists(lease));
  return isHeld === 1 ? undefined : ['fenced', 'no lease'];
}

/** Changes the store after a command. */
export async function spoil(sabotage: Sabotage | undefined, redis: VirtualRedis, done: Sabotaged): Promise<void> {
  if (sabotage === 'expiry' && /^(journal|calls)[.]/.test(done.operation))
    await redis.expireAll('execution', done.wallMs + JOURNAL_MS);
}
