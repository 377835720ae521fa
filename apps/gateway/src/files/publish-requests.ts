import type { Bus } from '@caribou/bus';
import { AppError, managerSubject, SandboxPublish } from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import { LRUCache } from 'lru-cache';

/** Managers that did not answer, which are not asked again for a while: every reader would wait for the deadline. */
const SILENT = { max: 1_000, ttl: 10_000 };

/** Asks managers to store changes of threads, once for all that wait for those of one thread. */
export class PublishRequests {
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly silent = new LRUCache<string, true>(SILENT);

  constructor(
    private readonly bus: Pick<Bus, 'call'>,
    private readonly logger: Logger,
  ) {}

  /** Resolves when the manager has stored the changes, or cannot now, which is logged; never rejects. */
  ask(thread: ThreadKey, managerId: string): Promise<void> {
    const name = `${managerId}/${thread.userId}/${thread.threadId}`;
    const known = this.underWay.get(name);
    if (known !== undefined) return known;
    if (this.silent.has(managerId)) return Promise.resolve();
    const asked = this.askNow(thread, managerId).finally(() => this.underWay.delete(name));
    this.underWay.set(name, asked);
    return asked;
  }

  private async askNow({ userId, threadId }: ThreadKey, managerId: string): Promise<void> {
    const event = 'files.publish';
    try {
      const target = { contract: SandboxPublish, subject: managerSubject(managerId, SandboxPublish) };
      const { outcome: reason } = await this.bus.call(target, { user_id: userId, thread_id: threadId });
      this.logger.debug(
        { event, outcome: 'ok', reason, threadId, managerId },
        'a manager was asked to store the files of a thread',
      );
    } catch (error) {
      this.silent.set(managerId, true);
      const level = error instanceof AppError && error.expected ? 'warn' : 'error';
      const fields = { event, outcome: 'error', threadId, managerId, error };
      this.logger[level](fields, 'a manager did not store the files of a thread; readers get the last stored ones');
    }
  }
}
