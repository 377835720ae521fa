import { z } from 'zod';
import { ThreadId, UserId } from '../../common/ids.js';
import { HeldSandboxInfo, MAX_LISTED_SANDBOXES } from '../../rpc/scatter.js';
import { queryInt, route } from '../route.js';
import { Reachable } from './fleet.js';

const group = 'Operate';

const SandboxInfo = HeldSandboxInfo.extend({
  manager_id: z.string(),
  host: z.string().describe('The machine of its manager'),
});
export type SandboxInfo = z.infer<typeof SandboxInfo>;

const SandboxesReply = z.object({
  sandboxes: z.array(SandboxInfo).describe('In the order of user and thread'),
  total: z.number().int().min(0).describe('Sandboxes of all managers that answered'),
  next: z.string().nullable().describe('`cursor` of the next page; null: this is the last one'),
  silent_managers: z
    .array(z.string())
    .describe('Managers with a lease that did not answer within a second: their sandboxes are missing here'),
  nats: Reachable,
});
export type SandboxesReply = z.infer<typeof SandboxesReply>;

const list = route({
  name: 'listSandboxes',
  group,
  method: 'GET',
  path: '/admin/sandboxes',
  role: 'administrator',
  summary: 'The live sandboxes of all managers.',
  query: z.strictObject({
    user_id: UserId.optional(),
    limit: queryInt(50, 1, MAX_LISTED_SANDBOXES),
    cursor: z
      .string()
      .regex(/^[A-Za-z0-9][\w-]{0,63}\/[A-Za-z0-9][\w-]{0,63}$/, 'must be `next` of an earlier answer')
      .optional(),
  }),
  reply: SandboxesReply,
});

const end = route({
  name: 'endSandbox',
  group,
  method: 'DELETE',
  path: '/admin/sandboxes/:user_id/:thread_id',
  role: 'administrator',
  summary:
    'End the sandbox of a thread. The command under way ends with an unknown outcome; files stay, and the next command gets a fresh sandbox. 404 when no live manager has one, 409 when `since` names an earlier one. Audited.',
  params: z.object({ user_id: UserId, thread_id: ThreadId }),
  query: z.strictObject({
    since: z.iso.datetime().optional().describe('Only the sandbox that was created at that time, as the list says'),
  }),
  reply: z.object({ commands: z.number().int().min(0).describe('How many commands were under way') }),
  refusals: [404, 409],
});

export const sandboxRoutes = { list, end };
