import { resolve } from 'node:path';
import { z } from 'zod';
import { AgentsApiFile } from '../schema/agents-schema.js';
import { AuthFile } from '../schema/auth-schema.js';
import { camelKeys } from '../common/camel-keys.js';
import { type ChainConfig, chainSections } from '../schema/chain-schema.js';
import type { AuthConfig, Config, SkillsConfig } from '../settings/config.js';
import { ConfigError } from '../common/config-error.js';
import { toCommandRules } from './command-rules.js';
import { type ConfigFile, readConfigFile } from './config-file.js';
import { withOurKeys } from '../deerflow/deerflow-keys.js';
import { readEnvironment } from './environment.js';
import {
  ClocksFile,
  CommandRulesFile,
  LogLevel,
  NatsFile,
  RunnerFile,
  SandboxFile,
  sections,
  SkillsFile,
  TitleFile,
  UploadsFile,
} from '../schema/file-schema.js';
import { QuotasFile } from '../schema/quotas-schema.js';
import { addIssues, type Findings, isRecord, noFindings } from '../common/findings.js';
import { tellForeign } from '../deerflow/foreign-keys.js';
import { modelProblems, type ModelsRead, readModels } from '../deerflow/model-entries.js';
import { McpFile } from '../schema/mcp-schema.js';
import { present } from '../common/present.js';
import { type Environment, resolveReferences } from '../common/references.js';
import { Secret } from '../common/secret.js';
import { natsSecurity, redisSecurity } from './server-security.js';
import { SuggestionsFile } from '../schema/suggestions-schema.js';
import { subagentFaults, withoutModels } from '../schema/subagents-schema.js';
import { tellExtensions } from '../deerflow/told-extensions.js';
import { readTools } from '../deerflow/tool-entries.js';
import { toSandbox } from '../settings/sandbox-config.js';
import { toWeb } from '../settings/web-config.js';
import { WebFile } from '../schema/web-schema.js';

interface Reading {
  readonly env: Environment;
  readonly cwd: string;
  readonly findings: Findings;
}

/** A section of config.yaml, by its key. */
export type FileSection = keyof typeof sections | 'log_level';

interface FileReading {
  readonly file: Readonly<Record<string, unknown>>;
  readonly reading: Reading;
}

/**
 * The configuration of a service from its environment and config.yaml (CARIBOU_CONFIG, else ./config.yaml when
 * there is one). Environment variables win over the file; an empty variable counts as unset.
 *
 * @param only sections of the file that this service reads; the others are as if they were not there, so that variables
 *   they refer to, keys of models above all, need not be in its environment. Default: all.
 * @throws {ConfigError} listing every fault at once; no text of it shows a value.
 */
export function loadConfig(
  env: Environment = process.env,
  cwd: string = process.cwd(),
  only?: readonly FileSection[],
): Config {
  const findings = noFindings();
  const reading = { env, cwd, findings };
  const config = compose(readConfigFile(env, cwd, findings), reading, only);
  if (findings.faults.length > 0) throw new ConfigError(findings.faults);
  return deepFreeze(config);
}

function compose({ fields: all, folder }: ConfigFile, reading: Reading, only?: readonly FileSection[]): Config {
  const { findings } = reading;
  const fields = only === undefined ? all : sectionsOf(withOurKeys(all, noFindings()), only);
  const auth = authOf(section(AuthFile, 'auth', { file: fields, reading }));
  const settings = readEnvironment(reading, auth.enabled);
  tellExtensions(settings.extensionsConfigPath, findings);
  const { tools, file } = readTools(withOurKeys(fields, findings), { ...reading, folder });
  tellUnknown(file, findings);
  const from = { file, reading };
  const level = section(LogLevel, 'log_level', from);
  const read = readModels(file['models'], reading);
  const { models } = read;
  return {
    http: settings.http,
    nats: { url: new Secret(settings.natsUrl), security: natsSecurity(reading), ...section(NatsFile, 'nats', from) },
    redis: {
      url: new Secret(settings.redisUrl),
      security: redisSecurity(reading, settings.redisUrl),
      fsync: settings.redisFsync,
    },
    homeDir: settings.homeDir,
    extensionsConfigPath: settings.extensionsConfigPath,
    logLevel: settings.logLevel ?? level,
    healthPort: settings.healthPort,
    ...(settings.otlpEndpoint === undefined ? {} : { otlpEndpoint: new Secret(settings.otlpEndpoint) }),
    clocks: camelKeys(checkedClocks(section(ClocksFile, 'clocks', from), findings)),
    runner: camelKeys(section(RunnerFile, 'runner', from)),
    quotas: camelKeys(section(QuotasFile, 'quotas', from)),
    sandbox: toSandbox(section(SandboxFile, 'sandbox', from)),
    commandRules: toCommandRules(section(CommandRulesFile, 'command_rules', from), findings),
    uploads: camelKeys(section(UploadsFile, 'uploads', from)),
    skills: skillsOf(section(SkillsFile, 'skills', from), folder),
    agentsApi: section(AgentsApiFile, 'agents_api', from),
    web: toWeb(section(WebFile, 'web', from), reading),
    mcp: camelKeys(section(McpFile, 'mcp', from)),
    auth,
    models,
    title: camelKeys(checkedModel(section(TitleFile, 'title', from), 'title', { read, findings })),
    suggestions: camelKeys(
      checkedModel(section(SuggestionsFile, 'suggestions', from), 'suggestions', { read, findings }),
    ),
    tools,
    chain: chainOf(from, read, folder),
    warnings: findings.warnings,
    notices: findings.notices,
    problems: modelProblems(models),
  };
}

const sectionsOf = (fields: Readonly<Record<string, unknown>>, only: readonly string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => only.includes(name)));

/** The section with its references resolved and its defaults filled in; the defaults alone when it has faults. */
function section<T extends z.ZodType>(schema: T, key: string, { file, reading }: FileReading): z.output<T> {
  const empty = schema instanceof z.ZodObject ? {} : undefined;
  const value = known(schema, key, file[key] ?? empty, reading.findings);
  const parsed = schema.safeParse(resolveReferences(value, key, reading));
  if (parsed.success) return parsed.data;
  addIssues(reading.findings, key, parsed.error);
  return schema.parse(empty);
}

/** The value without the keys the schema does not have, each told: DeerFlow's own file loads. */
function known(schema: z.ZodType, key: string, value: unknown, findings: Findings): unknown {
  if (!(schema instanceof z.ZodObject) || !isRecord(value)) return value;
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  const kept: [string, unknown][] = [];
  for (const [name, item] of Object.entries(value)) {
    const inner = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (inner === undefined) tellForeign(`${key}.${name}`, item, findings);
    else kept.push([name, known(unwrapped(inner), `${key}.${name}`, item, findings)]);
  }
  return Object.fromEntries(kept);
}

function unwrapped(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault || schema instanceof z.ZodOptional))
    return schema;
  const inner = schema.unwrap();
  return inner instanceof z.ZodType ? inner : schema;
}

function tellUnknown(file: Readonly<Record<string, unknown>>, findings: Findings): void {
  const used = new Set(['models', 'log_level', 'tools', 'tool_groups', ...Object.keys(sections)]);
  for (const [key, value] of Object.entries(file)) if (!used.has(key)) tellForeign(key, value, findings);
}

/** A holder must get two renewals in before its lease lapses, or one lost packet costs a takeover. */
function checkedClocks(clocks: z.output<typeof ClocksFile>, { faults }: Findings): z.output<typeof ClocksFile> {
  const third = (renewMs: number, leaseMs: number) => renewMs * 3 <= leaseMs;
  if (!third(clocks.renew_ms, clocks.lease_ms)) faults.push('clocks.renew_ms: must be at most a third of lease_ms');
  if (!third(clocks.manager_renew_ms, clocks.manager_lease_ms)) {
    faults.push('clocks.manager_renew_ms: must be at most a third of manager_lease_ms');
  }
  if (clocks.renew_ms >= clocks.ack_wait_ms) faults.push('clocks.renew_ms: must be less than ack_wait_ms');
  return clocks;
}

function skillsOf({ path, ...limits }: z.output<typeof SkillsFile>, folder: string): SkillsConfig {
  return { ...camelKeys(limits), ...present({ path: path === null ? undefined : resolve(folder, path) }) };
}

const authOf = ({ local, ...settings }: z.output<typeof AuthFile>): AuthConfig => ({
  ...camelKeys(settings),
  allowRegistration: local.allow_registration,
});

/** The sections of the middlewares; keys of the file are kept. */
function chainOf(from: FileReading, read: ModelsRead, folder: string): ChainConfig {
  const { findings } = from.reading;
  const entries = Object.entries(chainSections).map(([key, schema]) => [key, section<z.ZodType>(schema, key, from)]);
  const chain = Object.fromEntries(entries) as ChainConfig;
  const summarization = checkedModel(chain.summarization, 'summarization', { read, findings });
  const memory = checkedModel(chain.memory, 'memory', { read, findings });
  const subagents = withoutModels(chain.subagents, read.leftOut);
  const { warn_threshold: warn, hard_limit: hard } = chain.loop_detection;
  findings.faults.push(...subagentFaults(subagents, new Set(read.models.map(({ name }) => name))));
  if (warn >= hard) findings.faults.push('loop_detection.warn_threshold: must be less than hard_limit');
  const middlewares = chain.extensions.middlewares.map(({ use, options }) => ({ use: resolve(folder, use), options }));
  return { ...chain, summarization, memory, subagents, extensions: { middlewares } };
}

interface Known {
  readonly read: ModelsRead;
  readonly findings: Findings;
}

/** A model that was left out is none: what would use it falls back as without the key. */
function checkedModel<T extends { readonly model_name: string | null }>(
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
