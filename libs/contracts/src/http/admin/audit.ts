import { z } from 'zod';
import { ThreadId, UserId } from '../../common/ids.js';
import { FreeJson, queryInt, route } from '../route.js';

const group = 'Administration';

const Time = z.iso.datetime({ offset: true });

const filters = {
  user: UserId.optional().describe('The owner of what was acted on'),
  thread: ThreadId.optional(),
  action: z.string().min(1).max(100).optional().describe('The operation, such as exec, approval or run.cancel'),
  outcome: z.string().min(1).max(100).optional().describe('The verdict, such as ok or approve'),
  from: Time.optional().describe('Not before this time'),
  to: Time.optional().describe('Not after this time'),
};

const AuditEntryReply = z.object({
  id: z.string().describe('Position in the audit'),
  line: FreeJson.describe('As it was written'),
});
export type AuditEntryReply = z.infer<typeof AuditEntryReply>;

const AuditReply = z.object({
  entries: z.array(AuditEntryReply).describe('Newest first'),
  next_cursor: z
    .string()
    .nullable()
    .describe(
      'A request looks through 5,000 lines at most, so a page may have fewer lines than its limit and be followed by others',
    ),
});
export type AuditReply = z.infer<typeof AuditReply>;

const list = route({
  name: 'listAudit',
  group,
  method: 'GET',
  path: '/admin/audit',
  role: 'administrator',
  summary: 'The audit of sandbox operations, of decisions and of what administrators did to the work of others.',
  query: z.strictObject({
    ...filters,
    limit: queryInt(100, 1, 500),
    cursor: z
      .string()
      .regex(/^\d{1,16}-\d{1,16}$/, 'must be next_cursor of the page before')
      .optional()
      .describe('next_cursor of the page before'),
  }),
  reply: AuditReply,
});

const exportLines = route({
  name: 'exportAudit',
  group,
  method: 'GET',
  path: '/admin/audit/export',
  role: 'administrator',
  summary: 'The lines of the audit in a range of time as a file, one JSON object per line, oldest first.',
  query: z.strictObject({ ...filters, limit: queryInt(100_000, 1, 200_000).describe('Lines at most') }),
  reply: 'file',
});

export const auditRoutes = { list, exportLines };
