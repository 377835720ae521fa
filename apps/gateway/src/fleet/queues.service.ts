import type { QueueInfo, QueueKind, QueuesReply, WaitingThreadInfo } from '@caribou/contracts';
import type { WaitingRun } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import type { QueueReads, UserQueue } from './queue-reads.js';

/** Threads that wait longest, of all kinds together. */
const MAX_THREADS = 50;

/** What waits in the queues of all users. */
@Injectable()
export class QueuesService {
  constructor(
    @Dependency('queueReads') private readonly reads: QueueReads,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'runningLimits'>,
  ) {}

  async read(): Promise<QueuesReply> {
    const { reads } = this;
    const [runs, tasks, crons, webhooks, memory] = await Promise.all([
      reads.runs(MAX_THREADS),
      reads.tasks(MAX_THREADS),
      reads.crons(),
      reads.webhooks(),
      reads.memory?.(),
    ]);
    const conversions = { ...reads.conversions(), users: [], isWhole: true };
    const queues: readonly (readonly [QueueKind, UserQueue])[] = [
      ['runs', runs],
      ['tasks', tasks],
      ...(memory === undefined ? [] : [['memory', memory] as const]),
      ['conversions', conversions],
      ['crons', crons],
      ['webhooks', webhooks],
    ];
    const waiting = [...runs.longest.map(waitingThread('runs')), ...tasks.longest.map(waitingThread('tasks'))];
    return {
      at: new Date().toISOString(),
      queues: queues.map(([kind, queue]) => queueInfo(kind, queue)),
      longest_waiting: waiting.sort((left, right) => right.wait_ms - left.wait_ms).slice(0, MAX_THREADS),
      running: { runs: runs.running, tasks: tasks.running },
      limits: this.settings.runningLimits,
    };
  }
}

const queueInfo = (kind: QueueKind, { length, oldestWaitMs, users, isWhole }: UserQueue): QueueInfo => ({
  kind,
  length,
  oldest_wait_ms: oldestWaitMs,
  users: users.map(({ userId, waiting }) => ({ user_id: userId, waiting })),
  is_counted_whole: isWhole,
});

const waitingThread =
  (kind: WaitingThreadInfo['kind']) =>
  ({ userId, threadId, sinceMs, waitMs }: WaitingRun): WaitingThreadInfo => ({
    ...{ kind, user_id: userId, thread_id: threadId },
    since: new Date(sinceMs).toISOString(),
    wait_ms: waitMs,
  });
