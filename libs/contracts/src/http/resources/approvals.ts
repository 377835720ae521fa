import { z } from 'zod';
import { ThreadId, UserId } from '../../common/ids.js';
import { InterruptId, InterruptKind } from '../../records/interrupts.js';
import { Decider } from '../../settings/decider.js';
import { FreeJson, queryInt, route } from '../route.js';
import { RunReply } from '../threads/replies.js';

const group = 'Approvals';

/** A user other than the caller, for administrators. */
const ofUser = { user_id: UserId.optional().describe('Administrators only: the user whose threads are meant') };

const Waiting = z.object({
  interrupt_id: z.string(),
  thread_id: z.string(),
  user_id: z.string().describe('The owner of the thread'),
  run_id: z.string().nullable().describe('The run that asked; null for a question that ended its run'),
  kind: InterruptKind,
  value: z.unknown().describe('With kind approval as in LangChain: action_requests and review_configs'),
  namespace: z.array(z.string()).describe('The subagent that asks; empty: the agent itself'),
  decider: Decider,
  may_decide: z.boolean().describe('Whether the caller may decide'),
  created_at: z.string(),
  expires_at: z.string().nullable().describe('When its deadline decides; null: it waits for ever'),
  on_expiry: z.unknown().optional().describe('The answer that its deadline gives; absent without one'),
  response_schema: FreeJson.optional().describe('JSON Schema of the answer, if its author gave one'),
});
export type WaitingReply = z.infer<typeof Waiting>;

export const ApprovalsReply = z.object({
  approvals: z.array(Waiting),
  next_cursor: z.string().nullable().describe('The cursor of the next page; null on the last one'),
});
export type ApprovalsReply = z.infer<typeof ApprovalsReply>;

const list = route({
  name: 'listApprovals',
  group,
  method: 'GET',
  path: '/approvals',
  summary: 'What waits for decisions and answers, oldest first; for administrators of all users.',
  query: z.object({
    ...ofUser,
    limit: queryInt(20, 1, 100).describe('Threads of one page'),
    cursor: z.string().max(300).optional().describe('next_cursor of the page before'),
  }),
  reply: ApprovalsReply,
});

const listOfThread = route({
  name: 'listThreadApprovals',
  group,
  method: 'GET',
  path: '/threads/:thread_id/approvals',
  summary: 'What a thread waits for.',
  params: z.object({ thread_id: ThreadId }),
  query: z.object(ofUser),
  reply: z.array(Waiting),
  refusals: [404],
});

const decide = route({
  name: 'decideApproval',
  group,
  method: 'POST',
  path: '/threads/:thread_id/approvals/:interrupt_id',
  summary: 'Decide about a call that waits, or answer a question; starts the run that continues.',
  params: z.object({ thread_id: ThreadId, interrupt_id: InterruptId }),
  query: z.object(ofUser),
  body: FreeJson.describe(
    '{"type": "approve"}, {"type": "edit", "edited_action": {"name", "args"}}, {"type": "reject", "message"} or {"type": "respond", "message"}; for a question {"answer": …}',
  ),
  reply: RunReply,
  refusals: [404, 409, 429],
});

export const approvalRoutes = { list, listOfThread, decide };
