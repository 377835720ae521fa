import { ConflictError, FencedError, type SandboxDriverKind } from '@caribou/contracts';
import type { SandboxBinding, SandboxRecord, SandboxRegistry } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const scripts = {
  renew: loadScript('executions/renew-manager'),
  bind: loadScript('executions/bind-sandbox'),
  giveBack: loadScript('executions/give-sandbox-back'),
};

/** How long after the end of a manager's lease its lapse can still be detected. */
const SEEN_TTL_MS = 24 * 3_600_000;
/** For how long the end of a lease is reported to those who list managers. */
const REPORT_MS = 60_000;

const recordOf = ([managerId, sandboxId, driver]: readonly string[]): SandboxRecord => ({
  managerId: managerId ?? '',
  sandboxId: sandboxId ?? '',
  driver: driver as SandboxDriverKind,
});

function bindingOf([kind, managerId = '', sandboxId = '', driver = '', lapse = '']: readonly string[]): SandboxBinding {
  const record = recordOf([managerId, sandboxId, driver]);
  return kind === 'lapsed' ? { ...record, lapse } : record;
}

/** Records which manager has the sandbox of each thread. */
export function redisSandboxRegistry(redis: RedisConnection): SandboxRegistry {
  const { keys } = redis;
  return {
    renewManager: async (managerId, ttlMs) => {
      const lapsed = await redis.run(
        scripts.renew,
        [keys.manager(managerId), keys.managerSeen(managerId), keys.managers],
        [ttlMs, SEEN_TTL_MS, managerId, REPORT_MS],
      );
      return { lapsed: lapsed === 1 };
    },
    releaseManager: async (managerId) => {
      await redis.use((client) =>
        Promise.all([
          client.del(keys.manager(managerId), keys.managerSeen(managerId)),
          client.zrem(keys.managers, managerId),
        ]),
      );
    },
    isManagerAlive: async (managerId) =>
      managerId !== '' && (await redis.use((client) => client.exists(keys.manager(managerId)))) === 1,
    binding: async (thread) => {
      const found = await redis.use((client) =>
        client.hmget(keys.thread(thread).sandbox, 'manager', 'sandbox', 'driver'),
      );
      return found.every((text) => text !== null) ? recordOf(found) : null;
    },
    bind: async (thread, proposal) => {
      const { sandbox, lease, owner } = keys.thread(thread);
      const reply = (await redis.run(
        scripts.bind,
        [sandbox],
        [
          ...[keys.managerPrefix, keys.managerSeenPrefix, String(proposal.epoch ?? '')],
          ...[proposal.managerId, proposal.sandboxId, proposal.driver, lease, owner, proposal.lapse ?? ''],
        ],
      )) as string[];
      if (reply[0] === 'fenced')
        throw new FencedError('the epoch is not the current epoch of the thread', {
          details: { threadId: thread.threadId },
        });
      if (reply[0] === 'driver') {
        throw new ConflictError(`the thread's sandbox belongs to the driver ${reply[1] ?? ''}`, {
          details: { threadId: thread.threadId },
        });
      }
      return bindingOf(reply);
    },
    giveBack: async (thread, managerId) =>
      (await redis.run(scripts.giveBack, [keys.thread(thread).sandbox], [managerId])) === 1,
    currentEpoch: async (thread) => {
      const { lease, owner } = keys.thread(thread);
      const [held, claimed] = await redis.use((client) => client.mget(lease, owner));
      const text = held ?? claimed ?? ':0';
      return Number(text.slice(text.lastIndexOf(':') + 1));
    },
  };
}
