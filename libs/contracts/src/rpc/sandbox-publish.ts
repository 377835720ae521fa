import { z } from 'zod';
import { ThreadId, UserId } from '../common/ids.js';
import { rpc } from './contract.js';

/**
 * Stores all changes of a thread's files that its manager has not stored yet, for a reader elsewhere. Asked by gateways, which have no
 * epoch.
 */
export const SandboxPublish = rpc({
  name: 'publish',
  request: z.object({ user_id: UserId, thread_id: ThreadId }),
  reply: z.object({
    outcome: z.enum(['published', 'nothing', 'not_held']).describe('not_held: this manager does not hold the sandbox'),
  }),
  timeoutMs: 20_000,
});

/**
 * Stores changes of a thread's files that a manager of this machine has left when its process ended. Any manager of the machine answers,
 * at the subject `managerSubject(<machine>, …)`.
 */
export const SandboxPublishLeft = rpc({
  name: 'publish_left',
  request: z.object({ user_id: UserId, thread_id: ThreadId }),
  reply: z.object({
    outcome: z
      .enum(['published', 'nothing', 'not_left'])
      .describe('not_left: the manager that has the changes may live, or was on another machine'),
  }),
  timeoutMs: 20_000,
});
