import { resolve } from 'node:path';
import { isRecord, omitUndefined } from '@caribou/contracts';
import { z } from 'zod';
import { AgentsApiFile } from '../schema/agents-schema.js';
import { AuthFile } from '../schema/auth-schema.js';
import { camelKeys } from '../common/camel-keys.js';
import { type ChainConfig, chainSections } from '../schema/chain-schema.js';
import type { AuthConfig, Config, SkillsConfig } from '../settings/config.js';
import { ConfigError } from '../common/config-error.js';
import { checkApprovals } from './approval-rules.js';
import { checkClocks } from './check-clocks.js';
import { toCommandRules } from './command-rules.js';
import { type ConfigFile, readConfigFile } from './config-file.js';
import { translateDeerFlowKeys } from '../deerflow/deerflow-keys.js';
import { readEnvironment } from './environment.js';
import {
  CommandRulesFile,
  LogLevel,
  RunnerFile,
  SandboxFile,
  sections,
  SkillsFile,
  TitleFile,
  UploadsFile,
} from '../schema/file-schema.js';
import { NatsFile, StoreFile } from '../schema/server-schema.js';
import { QuotasFile } from '../schema/quotas-schema.js';
import { UsageFile } from '../schema/usage-schema.js';
import { addIssues, type Findings, emptyFindings } from '../common/findings.js';
import { warnAboutUnknownKey } from '../deerflow/unknown-keys.js';
import { modelProblems, type LoadedModels, readModels } from '../deerflow/model-entries.js';
import { McpFile } from '../schema/mcp-schema.js';
import { type Environment, resolveReferences } from '../common/references.js';
import { Secret } from '../common/secret.js';
import { setVariables } from './config-sources.js';
import { readNatsSecurity, readRedisSecurity } from './server-security.js';
import { InputPolishFile } from '../schema/input-polish-schema.js';
import { SuggestionsFile } from '../schema/suggestions-schema.js';
import { subagentFaults, withoutModels } from '../schema/subagents-schema.js';
import { warnAboutExtensions } from '../deerflow/warn-about-extensions.js';
import { readTools } from '../deerflow/tool-entries.js';
import { warnAboutUnpricedModels } from './unpriced-models.js';
import { toSandbox } from '../settings/sandbox-config.js';
import { FilesFile } from '../schema/files-schema.js';
import { toFiles } from '../settings/files-config.js';
import { ClocksFile, CronsFile, ExplainFile, WebhooksFile } from '../schema/timers-schema.js';
import { toWebConfig } from '../settings/web-config.js';
import { toWebhooks } from '../settings/webhooks-config.js';
import { WebFile } from '../schema/web-schema.js';

interface ReadContext {
  readonly env: Environment;
  readonly cwd: string;
  readonly findings: Findings;
}

/** A section of config.yaml, by its key. */
export type FileSection = keyof typeof sections | 'log_level';

interface FileContext {
  readonly file: Readonly<Record<string, unknown>>;
  readonly context: ReadContext;
}

/**
 * Loads the configuration of a service from its environment and config.yaml (CARIBOU_CONFIG, else ./config.yaml when
 * there is one). Environment variables take precedence over the file; an empty variable counts as unset.
 *
 * @param only sections of the file that this service reads; the others are ignored, so that variables they refer to,
 *   such as keys of models, need not be in its environment. Default: all.
 * @throws {ConfigError} with every fault at once and no values
 */
export function loadConfig(
  env: Environment = process.env,
  cwd: string = process.cwd(),
  only?: readonly FileSection[],
): Config {
  const findings = emptyFindings();
  const context = { env, cwd, findings };
  const config = compose(readConfigFile(env, cwd, findings), context, only);
  if (findings.faults.length > 0) throw new ConfigError(findings.faults);
  return deepFreeze(config);
}

function compose({ fields: all, folder }: ConfigFile, context: ReadContext, only?: readonly FileSection[]): Config {
  const { findings } = context;
  const fields = only === undefined ? all : sectionsOf(translateDeerFlowKeys(all, emptyFindings()), only);
  const auth = authOf(section(AuthFile, 'auth', { file: fields, context }));
  const settings = readEnvironment(context, auth.enabled);
  warnAboutExtensions(settings.extensionsConfigPath, findings);
  const { tools, file } = readTools(translateDeerFlowKeys(fields, findings), { ...context, folder });
  warnAboutUnknownSections(file, findings);
  const from = { file, context };
  const level = section(LogLevel, 'log_level', from);
  const read = readModels(file['models'], { ...context, folder });
  const { models } = read;
  const usage = camelKeys(section(UsageFile, 'usage', from));
  const sandbox = section(SandboxFile, 'sandbox', from);
  warnAboutUnpricedModels({ usage, models }, findings);
  return {
    http: settings.http,
    nats: {
      url: new Secret(settings.natsUrl),
      security: readNatsSecurity(context),
      ...section(NatsFile, 'nats', from),
    },
    redis: {
      url: new Secret(settings.redisUrl),
      security: readRedisSecurity(context, settings.redisUrl),
      fsync: settings.redisFsync,
    },
    homeDir: settings.homeDir,
    runDir: settings.runDir,
    extensionsConfigPath: settings.extensionsConfigPath,
    logLevel: settings.logLevel ?? level,
    healthHost: settings.healthHost,
    healthPort: settings.healthPort,
    ...(settings.otlpEndpoint === undefined ? {} : { otlpEndpoint: new Secret(settings.otlpEndpoint) }),
    clocks: camelKeys(checkClocks(section(ClocksFile, 'clocks', from), sandbox.limits, findings)),
    runner: camelKeys(section(RunnerFile, 'runner', from)),
    store: storeOf(section(StoreFile, 'store', from)),
    quotas: camelKeys(section(QuotasFile, 'quotas', from)),
    usage,
    crons: camelKeys(section(CronsFile, 'crons', from)),
    explain: camelKeys(section(ExplainFile, 'explain', from)),
    ...(file['files'] === undefined ? {} : { files: toFiles(section(FilesFile, 'files', from), settings.homeDir) }),
    webhooks: toWebhooks(section(WebhooksFile, 'webhooks', from)),
    sandbox: toSandbox(sandbox, settings.podIp),
    commandRules: toCommandRules(section(CommandRulesFile, 'command_rules', from), findings),
    uploads: camelKeys(section(UploadsFile, 'uploads', from)),
    skills: skillsOf(section(SkillsFile, 'skills', from), folder),
    agentsApi: section(AgentsApiFile, 'agents_api', from),
    web: toWebConfig(section(WebFile, 'web', from), context),
    mcp: camelKeys(section(McpFile, 'mcp', from)),
    auth,
    models,
    title: camelKeys(checkModelName(section(TitleFile, 'title', from), 'title', { read, findings })),
    suggestions: camelKeys(
      checkModelName(section(SuggestionsFile, 'suggestions', from), 'suggestions', { read, findings }),
    ),
    inputPolish: camelKeys(
      checkModelName(section(InputPolishFile, 'input_polish', from), 'input_polish', { read, findings }),
    ),
    tools,
    chain: chainOf(from, read, folder),
    origins: {
      sections: [...new Set([...Object.keys(fields), ...Object.keys(file)])],
      variables: setVariables(context.env),
      referenced: new Secret(findings.referenced),
    },
    warnings: findings.warnings,
    notices: findings.notices,
    problems: modelProblems(models),
  };
}

function storeOf({ compact, embeddings }: z.output<typeof StoreFile>): Config['store'] {
  const { api_key: key, base_url: baseUrl, timeout_ms: timeoutMs, model, dimensions } = embeddings;
  if (model === undefined) return { compact };
  const apiKey = key === undefined ? undefined : new Secret(key);
  return { compact, embeddings: { model, baseUrl, timeoutMs, ...omitUndefined({ apiKey, dimensions }) } };
}

const sectionsOf = (fields: Readonly<Record<string, unknown>>, only: readonly string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => only.includes(name)));

/** Parses a section with its references resolved and its defaults filled in; returns the defaults when it is invalid. */
function section<T extends z.ZodType>(schema: T, key: string, { file, context }: FileContext): z.output<T> {
  const empty = schema instanceof z.ZodObject ? {} : undefined;
  const value = pickKnownKeys(schema, key, file[key] ?? empty, context.findings);
  const parsed = schema.safeParse(resolveReferences(value, key, context));
  if (parsed.success) return parsed.data;
  addIssues(context.findings, key, parsed.error);
  return schema.parse(empty);
}

/** Removes the keys that the schema does not have, with a finding each, so that DeerFlow's file loads. */
function pickKnownKeys(schema: z.ZodType, key: string, value: unknown, findings: Findings): unknown {
  if (!(schema instanceof z.ZodObject) || !isRecord(value)) return value;
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  const picked: [string, unknown][] = [];
  for (const [name, item] of Object.entries(value)) {
    const inner = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (inner === undefined) warnAboutUnknownKey(`${key}.${name}`, item, findings);
    else picked.push([name, pickKnownKeys(unwrapSchema(inner), `${key}.${name}`, item, findings)]);
  }
  return Object.fromEntries(picked);
}

function unwrapSchema(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault || schema instanceof z.ZodOptional))
    return schema;
  const inner = schema.unwrap();
  return inner instanceof z.ZodType ? inner : schema;
}

function warnAboutUnknownSections(file: Readonly<Record<string, unknown>>, findings: Findings): void {
  const used = new Set(['models', 'log_level', 'tools', 'tool_groups', ...Object.keys(sections)]);
  for (const [key, value] of Object.entries(file)) if (!used.has(key)) warnAboutUnknownKey(key, value, findings);
}

function skillsOf({ path, ...limits }: z.output<typeof SkillsFile>, folder: string): SkillsConfig {
  return { ...camelKeys(limits), ...omitUndefined({ path: path === null ? undefined : resolve(folder, path) }) };
}

const authOf = ({ local, ...settings }: z.output<typeof AuthFile>): AuthConfig => ({
  ...camelKeys(settings),
  allowRegistration: local.allow_registration,
});

/** Parses the sections of the middlewares; their inner keys stay in snake_case. */
function chainOf(from: FileContext, read: LoadedModels, folder: string): ChainConfig {
  const { findings } = from.context;
  const entries = Object.entries(chainSections).map(([key, schema]) => [key, section<z.ZodType>(schema, key, from)]);
  const chain = Object.fromEntries(entries) as ChainConfig;
  const summarization = checkModelName(chain.summarization, 'summarization', { read, findings });
  const memory = checkModelName(chain.memory, 'memory', { read, findings });
  const goals = checkModelName(chain.goals, 'goals', { read, findings });
  const subagents = withoutModels(chain.subagents, read.leftOut);
  const { warn_threshold: warn, hard_limit: hard } = chain.loop_detection;
  findings.faults.push(...subagentFaults(subagents, new Set(read.models.map(({ name }) => name))));
  if (warn >= hard) findings.faults.push('loop_detection.warn_threshold: must be less than hard_limit');
  checkApprovals(chain.approvals, read, findings);
  const middlewares = chain.extensions.middlewares.map(({ use, options }) => ({ use: resolve(folder, use), options }));
  return { ...chain, summarization, memory, goals, subagents, extensions: { middlewares } };
}

interface Known {
  readonly read: LoadedModels;
  readonly findings: Findings;
}

/** Checks that the model exists; a model that is listed but not supported is replaced by null, the default. */
function checkModelName<T extends { readonly model_name: string | null }>(
  settings: T,
  key: string,
  { read: { models, leftOut }, findings }: Known,
): T {
  const name = settings.model_name;
  if (name === null || models.some((model) => model.name === name)) return settings;
  if (leftOut.has(name)) return { ...settings, model_name: null };
  findings.faults.push(`${key}.model_name: no model has this name`);
  return settings;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}
