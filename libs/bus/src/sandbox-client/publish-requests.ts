import { AppError, managerSubject, SandboxPublish, SandboxPublishLeft } from '@caribou/contracts';
import type { Logger, ThreadKey, UnpublishedFiles } from '@caribou/core';
import { LRUCache } from 'lru-cache';
import type { RpcClient } from '../connection/procedures.js';

/** Managers that did not answer, which are not asked again for a while: every reader would wait for the deadline. */
const SILENT = { max: 1_000, ttl: 10_000 };

type Holder = Pick<UnpublishedFiles, 'managerId' | 'machine'>;

/** Asks managers to store changes of threads, once for all that wait for those of one thread. */
export class PublishRequests {
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly silent = new LRUCache<string, true>(SILENT);

  constructor(
    private readonly bus: Pick<RpcClient, 'call'>,
    private readonly logger: Logger,
  ) {}

  /**
   * Resolves when the manager has stored the changes, or, if its process has ended, another manager of its machine has; or when neither
   * can now, which is logged. Never rejects.
   */
  ask(thread: ThreadKey, { managerId, machine }: Holder): Promise<void> {
    const name = `${managerId}/${thread.userId}/${thread.threadId}`;
    const known = this.underWay.get(name);
    if (known !== undefined) return known;
    if (this.silent.has(managerId)) return Promise.resolve();
    const asked = this.askNow(thread, { managerId, machine }).finally(() => this.underWay.delete(name));
    this.underWay.set(name, asked);
    return asked;
  }

  private async askNow(thread: ThreadKey, { managerId, machine }: Holder): Promise<void> {
    const { threadId } = thread;
    const event = 'files.publish';
    try {
      const reason = await this.outcomeAt(managerId, thread).catch((error: unknown) => {
        if (!(error instanceof AppError) || !error.expected) throw error;
        return this.outcomeAtMachine(machine, thread);
      });
      this.logger.debug(
        { event, outcome: 'ok', reason, threadId, managerId },
        'a manager was asked to store the files of a thread',
      );
    } catch (error) {
      this.silent.set(managerId, true);
      const level = error instanceof AppError && error.expected ? 'warn' : 'error';
      const fields = { event, outcome: 'error', threadId, managerId, error };
      this.logger[level](fields, 'no manager stored the files of a thread; readers get the last stored ones');
    }
  }

  private async outcomeAt(managerId: string, { userId, threadId }: ThreadKey): Promise<string> {
    const target = { contract: SandboxPublish, subject: managerSubject(managerId, SandboxPublish) };
    return (await this.bus.call(target, { user_id: userId, thread_id: threadId })).outcome;
  }

  private async outcomeAtMachine(machine: string, { userId, threadId }: ThreadKey): Promise<string> {
    const target = { contract: SandboxPublishLeft, subject: managerSubject(machine, SandboxPublishLeft) };
    return (await this.bus.call(target, { user_id: userId, thread_id: threadId })).outcome;
  }
}
