import { z } from 'zod';
import { UserId } from '../../common/ids.js';
import { route } from '../route.js';

const Day = z.iso.date().describe('A day in UTC, such as 2026-03-14');
const count = () => z.number().int();

/** What usage can be grouped by. */
export const UsageGroup = z.enum(['day', 'user', 'key', 'agent', 'model']);
export type UsageGroup = z.infer<typeof UsageGroup>;

const Groups = z
  .string()
  .default('day')
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(z.array(UsageGroup).min(1).max(5))
  .describe('day, user, key, agent and model, with commas between them');

const UsageCounts = z.object({
  calls: count().describe('Model calls whose provider reported their tokens'),
  input_tokens: count(),
  cached_input_tokens: count().describe("Part of input_tokens: read from the provider's cache"),
  cache_write_tokens: count().describe("Part of input_tokens: written to the provider's cache"),
  output_tokens: count(),
  reasoning_tokens: count().describe('Part of output_tokens'),
  cost: z.number().describe('In the currency; calls of models without prices cost nothing'),
});

const UsageEntry = UsageCounts.extend({
  day: Day.optional(),
  user: z.string().optional(),
  key: z.string().nullable().optional().describe('The first 12 digits of the SHA-256 of the API key; null: none'),
  agent: z.string().optional().describe('Agent or kind of subagent; memory and suggestions for calls without a run'),
  model: z.string().optional(),
});
export type UsageEntry = z.infer<typeof UsageEntry>;

const UsageReply = z.object({
  from: Day,
  to: Day,
  currency: z.string().nullable().describe('Null while no model has prices'),
  series: z.array(UsageEntry).describe('Sorted by the groups, in the order of `group`'),
  totals: UsageCounts,
});
export type UsageReply = z.infer<typeof UsageReply>;

const get = route({
  name: 'getUsage',
  group: 'Usage',
  method: 'GET',
  path: '/usage',
  summary:
    'Tokens and cost of model calls: of the caller, or with `user` of another user or of all (`*`), for administrators. A day is in it at most as long as `usage.retention_days`.',
  query: z.strictObject({
    from: Day.optional().describe('First day; default: 29 days before `to`, or as many as are stored'),
    to: Day.optional().describe('Last day; default: today'),
    group: Groups,
    user: z
      .union([z.literal('*'), UserId])
      .optional()
      .describe('For administrators: another user, or * for all'),
  }),
  reply: UsageReply,
});

export const usageRoutes = { get };
