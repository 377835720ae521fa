import { z } from 'zod';
import { ThreadId, UserId } from '../common/ids.js';
import { rpc } from './contract.js';

/**
 * Ends a thread's sandbox for an administrator, who acts for no run and so has no epoch: the manager answers only for a sandbox that
 * is bound to it while its lease is valid. The command under way is ended, and its outcome is *unknown*. Files stay, and the next
 * command gets a fresh sandbox. A repeated request ends the sandbox that is there by then, unless `since` names the one that is meant.
 */
export const SandboxEnd = rpc({
  name: 'end',
  request: z.object({
    user_id: UserId,
    thread_id: ThreadId,
    since: z.iso.datetime().optional().describe('Only the sandbox that was created at that time'),
    decided_by: UserId.describe('The administrator'),
    decided_from: z.string().max(100).optional().describe('Address of the client'),
  }),
  reply: z.object({
    outcome: z
      .enum(['ended', 'not_held', 'another'])
      .describe('not_held: this manager has no sandbox of the thread; another: `since` names an earlier one'),
    commands: z.number().int().min(0).describe('How many commands were under way'),
  }),
  timeoutMs: 30_000,
});
