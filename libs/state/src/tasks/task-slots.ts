import { FencedError, isTerminal, newId, RunStatus } from '@caribou/contracts';
import type { ProcessOwner } from '../ports/process-registry.js';
import { ownerName, processParams } from '../processes/process-registry.js';
import type { ParentState, TaskParent, TaskSlot, TaskSlots } from '../ports/task-slots.js';
import type { RedisConnection } from '../redis/connection.js';
import { parsePendingMember, pendingMember } from '../redis/keys.js';
import { loadScript } from '../redis/scripts.js';

const scripts = {
  take: loadScript('tasks/take-slot'),
  renew: loadScript('tasks/renew-slot'),
  release: loadScript('tasks/release-slot'),
};

/** Maximum number of pending tasks read for one slot; admission limits their number below it. */
const MAX_SCANNED = 10_000;

export interface TaskSlotOptions {
  /** The part of the store that holds the tasks. */
  readonly tasks: RedisConnection;
  /** The part that holds their parents. */
  readonly parents: RedisConnection;
  /** How long a slot lasts without renewal. */
  readonly leaseMs: number;
  /** The process under whose lease slots live. */
  readonly process?: ProcessOwner;
}

/** The slots of all pools, in Redis. Methods throw UnavailableError when Redis does not answer in time. */
export function redisTaskSlots({ tasks, parents, leaseMs, process }: TaskSlotOptions): TaskSlots {
  const { pending, slots, slotTokens, slotsServed } = tasks.keys;
  const recordOf = ({ userId, runId }: TaskParent): string => parents.keys.runPrefix(userId) + runId;
  return {
    acquire: async ({ maxRunning, maxRunningPerUser }) => {
      const token = ownerName(process, newId());
      const processes = JSON.stringify(processParams(tasks, 'runs', process));
      const args = [token, leaseMs, maxRunning, maxRunningPerUser, MAX_SCANNED, processes];
      const [outcome, member] = (await tasks.run(
        scripts.take,
        [pending, slots, slotTokens, slotsServed],
        args,
      )) as string[];
      return outcome !== 'slot' || member === undefined ? null : { ...parsePendingMember(member), token };
    },
    renew: async (slot, parent) => {
      const args = [slot.token, leaseMs, pendingMember(slot), recordOf(parent)];
      const reply = (await tasks.run(scripts.renew, [slots, slotTokens], args)) as string[];
      const [outcome, status = '', cancel = ''] = reply;
      if (outcome !== 'ok') throw lost(slot);
      return parentStateOf(status, cancel);
    },
    parentState: async (parent) => {
      const [status, cancel] = await parents.use((client) => client.hmget(recordOf(parent), 'status', 'cancel'));
      return parentStateOf(status ?? '', cancel ?? '');
    },
    release: async (slot) => {
      await tasks.run(scripts.release, [slots, slotTokens, pending], [slot.token, pendingMember(slot)]);
    },
  };
}

function parentStateOf(status: string, cancel: string): ParentState {
  if (status === '') return 'gone';
  return cancel !== '' || isTerminal(RunStatus.parse(status)) ? 'over' : 'live';
}

const lost = ({ threadId }: TaskSlot): FencedError =>
  new FencedError('the slot of the task is free or has another token', { details: { threadId } });
