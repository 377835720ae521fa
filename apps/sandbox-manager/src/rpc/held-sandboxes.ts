import { hostname } from 'node:os';
import type { FleetSandboxes, SandboxEnd } from '@caribou/contracts';
import type { Clock, ThreadKey } from '@caribou/core';
import type { z } from 'zod';
import type { Executor } from '../executions/executor.js';
import type { ManagedSandbox } from '../executions/managed-sandbox.js';
import type { SandboxPool } from '../executions/sandbox-pool.js';

type Asked = z.output<(typeof FleetSandboxes)['request']>;
type Held = z.output<(typeof FleetSandboxes)['reply']>;
type EndAsked = z.output<(typeof SandboxEnd)['request']>;
type EndReply = z.output<(typeof SandboxEnd)['reply']>;

export interface HeldSandboxesOptions {
  readonly managerId: string;
  readonly pool: Pick<SandboxPool, 'list' | 'findBound'>;
  readonly executor: Pick<Executor, 'executionsOf' | 'endSandbox' | 'assertHeld'>;
  /** Bytes of a thread's files as measured last. */
  readonly diskBytes: (thread: ThreadKey) => number | undefined;
  readonly clock: Clock;
}

/** Commands of one sandbox that are listed. */
const MAX_COMMANDS = 50;

const isoOf = (ms: number): string => new Date(ms).toISOString();
const positionOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/** What administrators see of the sandboxes of this manager, and how they end one. */
export class HeldSandboxes {
  constructor(private readonly options: HeldSandboxesOptions) {}

  list({ user_id: userId, after, limit }: Asked): Held {
    const { managerId, pool } = this.options;
    const ofUser = pool.list().filter(({ spec }) => userId === undefined || spec.userId === userId);
    const from = after === undefined ? '' : `${after.user_id}/${after.thread_id}`;
    const page = ofUser
      .map((sandbox) => ({ sandbox, position: positionOf(sandbox.spec) }))
      .filter(({ position }) => position > from)
      .sort((left, right) => (left.position < right.position ? -1 : 1))
      .slice(0, limit);
    return {
      manager_id: managerId,
      host: hostname(),
      total: ofUser.length,
      sandboxes: page.map(({ sandbox }) => this.describe(sandbox)),
    };
  }

  /**
   * @throws {UnavailableError} while this manager has no lease, when the registry is unreachable, and when the driver has failed to
   *   remove the sandbox
   */
  async end({ user_id: userId, thread_id: threadId, since }: EndAsked): Promise<EndReply> {
    const { pool, executor } = this.options;
    executor.assertHeld();
    const sandbox = await pool.findBound({ userId, threadId });
    if (sandbox?.sinceMs === undefined) return { outcome: 'not_held', commands: 0 };
    if (since !== undefined && Date.parse(since) !== sandbox.sinceMs) return { outcome: 'another', commands: 0 };
    return { outcome: 'ended', commands: await executor.endSandbox(sandbox) };
  }

  private describe({ spec, driver, sinceMs = 0, lastUsedMs, users }: ManagedSandbox): Held['sandboxes'][number] {
    const { clock, executor, diskBytes } = this.options;
    const idleMs = users > 0 ? 0 : clock.monotonicMs() - lastUsedMs;
    return {
      user_id: spec.userId,
      thread_id: spec.threadId,
      sandbox_id: spec.sandboxId,
      driver: driver.kind,
      since: isoOf(sinceMs),
      last_used_at: isoOf(clock.now() - idleMs),
      in_use: users > 0,
      commands: executor
        .executionsOf(spec)
        .slice(0, MAX_COMMANDS)
        .map((one) => ({ key: one.key, since: isoOf(one.sinceMs) })),
      disk_bytes: diskBytes(spec) ?? null,
    };
  }
}
