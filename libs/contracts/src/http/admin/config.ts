import { z } from 'zod';
import { FreeJson, queryInt, route } from '../route.js';

const group = 'Administration';

/** Where a section of the configuration comes from, as far as the gateway knows. */
const ConfigSource = z.enum(['file', 'environment', 'default']);
export type ConfigSource = z.infer<typeof ConfigSource>;

const ConfigFindingReply = z.object({
  level: z.enum(['ok', 'warn', 'fail']),
  topic: z.string(),
  text: z.string(),
  fix: z.string().nullable(),
});
export type ConfigFindingReply = z.infer<typeof ConfigFindingReply>;

const AdminConfigReply = z.object({
  config: FreeJson.describe(
    'As this gateway has loaded it at its start. Secrets, and values that may hold some, are masked',
  ),
  sources: z.record(z.string(), z.array(ConfigSource)).describe('By top-level section'),
  findings: z.array(ConfigFindingReply).describe('What `npm run doctor` says that this gateway can see, now'),
});
export type AdminConfigReply = z.infer<typeof AdminConfigReply>;

const get = route({
  name: 'getConfig',
  group,
  method: 'GET',
  path: '/admin/config',
  role: 'administrator',
  summary: 'The configuration of the gateway that answers, without secrets, and what is wrong with it.',
  reply: AdminConfigReply,
});

const BudgetUse = z.object({
  name: z.string(),
  cost: z.number(),
  share: z.number().nullable().describe('Part of the budget; null: there is none'),
});

const BudgetsReply = z.object({
  day: z.string(),
  currency: z.string().nullable(),
  user_budget_per_day: z.number().nullable(),
  key_budget_per_day: z.number().nullable(),
  warn_share: z.number(),
  users: z.number().int().describe('Users with model calls today'),
  cost: z.number().describe('Of all these users'),
  top_users: z.array(BudgetUse).describe('The highest cost first'),
  top_keys: z.array(BudgetUse).describe('API keys of these users, the highest cost first'),
});
export type BudgetsReply = z.infer<typeof BudgetsReply>;

const budgets = route({
  name: 'getBudgets',
  group,
  method: 'GET',
  path: '/admin/budgets',
  role: 'administrator',
  summary: 'The budgets of a day, and what of them is used today (UTC).',
  query: z.strictObject({ limit: queryInt(20, 1, 100).describe('Users and keys that are listed') }),
  reply: BudgetsReply,
});

export const adminConfigRoutes = { get };
export const budgetRoutes = { get: budgets };
