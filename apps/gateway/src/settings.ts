import type { Config } from '@caribou/config';
import { createWebhookCheck } from '@caribou/egress';
import { keyDigest } from './auth/api-keys.js';

/** The part of the configuration that the gateway's services read. */
export const toSettings = ({ clocks, quotas, runner, http, chain, skills, tools, ...config }: Config) => ({
  heartbeatMs: clocks.heartbeatMs,
  sweepMs: clocks.sweepMs,
  maxStreamsPerUser: quotas.maxStreamsPerUser,
  maxSlowReaderBytes: quotas.maxSlowReaderBytes,
  maxTurns: runner.maxTurns,
  maxTurnsCap: runner.maxTurnsCap,
  /** The models without the operator's secrets: keys, URLs, headers. */
  models: config.models.map(({ apiKey: _key, baseUrl: _url, headers: _headers, body: _body, ...shown }) => shown),
  /** Whether web clients show token counts. */
  showsTokens: chain.token_usage.enabled,
  /** Whether users may edit and remove messages that they did not write. */
  editsAnswers: chain.client_messages.edit_answers,
  maxConcurrentCalls: chain.llm_call.max_concurrent_calls,
  /** How much may run at once, of all users and of one; null: no limit. */
  runningLimits: {
    running_per_user: runner.maxRunningPerUser === 0 ? null : runner.maxRunningPerUser,
    tasks: chain.subagents.max_running,
    tasks_per_user: chain.subagents.max_running_per_user,
  },
  summarization: chain.summarization,
  goals: chain.goals,
  suggestions: config.suggestions,
  inputPolish: config.inputPolish,
  problems: config.problems,
  usageDays: config.usage.retentionDays,
  /** Limits of the cost in a day; null: none. */
  budgets: {
    user: config.usage.userBudgetPerDay,
    key: config.usage.keyBudgetPerDay,
    warnShare: config.usage.warnShare,
  },
  /** What a run may say about its time and its end. */
  timedRuns: { maxAfterSeconds: quotas.maxAfterSeconds, checkWebhook: createWebhookCheck(config.webhooks.allow) },
  crons: config.crons,
  webhooks: config.webhooks,
  timerMs: clocks.timerMs,
  bodyLimitBytes: http.bodyLimitBytes,
  uploads: config.uploads,
  memory: chain.memory,
  skills: { maxInstalled: skills.maxInstalled, maxBytes: skills.maxInstalledBytes },
  agentsApi: config.agentsApi,
  /** Names of all groups of tools. */
  toolGroups: tools.groupNames,
  mcp: config.mcp,
  auth: config.auth,
  /** Whether requests without credentials are refused; if not, they are those of the local administrator. */
  credentialsRequired: config.auth.enabled || http.apiKeys.length > 0,
  /** The keys of the configuration without their secrets. */
  configuredKeys: http.apiKeys.map(({ key, ...whose }) => ({ ...whose, label: keyDigest(key.reveal()) })),
  conversionLeaseMs: clocks.leaseMs,
  conversionRenewMs: clocks.renewMs,
});

export type GatewaySettings = Readonly<ReturnType<typeof toSettings>>;
