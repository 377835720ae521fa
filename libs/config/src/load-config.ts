import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { camelKeys } from './camel-keys.js';
import { type ChainConfig, chainSections } from './chain-schema.js';
import type { Config, ModelConfig, SandboxConfig, SkillsConfig } from './config.js';
import { ConfigError } from './config-error.js';
import { toCommandRules } from './command-rules.js';
import { configFilePath, readConfigFile } from './config-file.js';
import { readEnvironment } from './environment.js';
import {
  ClocksFile,
  CommandRulesFile,
  LogLevel,
  QuotasFile,
  RunnerFile,
  SandboxFile,
  sections,
  SkillsFile,
  TitleFile,
  UploadsFile,
} from './file-schema.js';
import { addIssues, type Findings, isRecord, noFindings } from './findings.js';
import { McpFile } from './mcp-schema.js';
import { modelProblems, readModels } from './model-entries.js';
import { present } from './present.js';
import { type Environment, resolveReferences } from './references.js';
import { Secret } from './secret.js';
import { subagentFaults } from './subagents-schema.js';
import { toWeb } from './web-config.js';
import { WebFile } from './web-schema.js';

interface Reading {
  readonly env: Environment;
  readonly cwd: string;
  readonly findings: Findings;
}

interface FileReading {
  readonly file: Readonly<Record<string, unknown>>;
  readonly reading: Reading;
}

/**
 * The configuration of a service from its environment and config.yaml (CARIBOU_CONFIG, else ./config.yaml when
 * there is one). Environment variables win over the file; an empty variable counts as unset.
 *
 * @throws {ConfigError} listing every fault at once; no text of it shows a value.
 */
export function loadConfig(env: Environment = process.env, cwd: string = process.cwd()): Config {
  const findings = noFindings();
  const reading = { env, cwd, findings };
  const file = readConfigFile(env, cwd, findings);
  const config = compose(file, reading);
  if (findings.faults.length > 0) throw new ConfigError(findings.faults);
  return deepFreeze(config);
}

function compose(file: Readonly<Record<string, unknown>>, reading: Reading): Config {
  const { findings } = reading;
  const settings = readEnvironment(reading);
  warnUnknown(file, findings);
  const from = { file, reading };
  const level = section(LogLevel, 'log_level', from);
  const models = readModels(file['models'], reading);
  return {
    http: settings.http,
    nats: { url: new Secret(settings.natsUrl) },
    redis: { url: new Secret(settings.redisUrl), fsync: settings.redisFsync },
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
    skills: skillsOf(section(SkillsFile, 'skills', from), reading),
    mcp: camelKeys(section(McpFile, 'mcp', from)),
    web: toWeb(section(WebFile, 'web', from), reading),
    models,
    title: camelKeys(checkedModel(section(TitleFile, 'title', from), 'title', { models, findings })),
    chain: chainOf(from, models),
    warnings: findings.warnings,
    problems: modelProblems(models),
  };
}

/** The section with its references resolved and its defaults filled in; the defaults alone when it has faults. */
function section<T extends z.ZodType>(schema: T, key: string, { file, reading }: FileReading): z.output<T> {
  const empty = schema instanceof z.ZodObject ? {} : undefined;
  const value = known(schema, key, file[key] ?? empty, reading.findings);
  const parsed = schema.safeParse(resolveReferences(value, key, reading));
  if (parsed.success) return parsed.data;
  addIssues(reading.findings, key, parsed.error);
  return schema.parse(empty);
}

/** The value without the keys the schema does not have, each warned of: DeerFlow's own file loads. */
function known(schema: z.ZodType, key: string, value: unknown, findings: Findings): unknown {
  if (!(schema instanceof z.ZodObject) || !isRecord(value)) return value;
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  const kept: [string, unknown][] = [];
  for (const [name, item] of Object.entries(value)) {
    const inner = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (inner === undefined || foreignImage(key, name, value)) findings.warnings.push(`${key}.${name}: not used`);
    else kept.push([name, known(unwrapped(inner), `${key}.${name}`, item, findings)]);
  }
  return Object.fromEntries(kept);
}

/** The image beside one of DeerFlow's providers is a server of its own kind, which our driver cannot drive. */
const foreignImage = (key: string, name: string, value: Readonly<Record<string, unknown>>): boolean =>
  key === 'sandbox' && name === 'image' && 'use' in value;

function unwrapped(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault || schema instanceof z.ZodOptional))
    return schema;
  const inner = schema.unwrap();
  return inner instanceof z.ZodType ? inner : schema;
}

function warnUnknown(file: Readonly<Record<string, unknown>>, findings: Findings): void {
  const used = new Set(['models', 'log_level', ...Object.keys(sections)]);
  for (const key of Object.keys(file)) if (!used.has(key)) findings.warnings.push(`${key}: not used`);
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

function skillsOf({ path, ...limits }: z.output<typeof SkillsFile>, { env, cwd }: Reading): SkillsConfig {
  const folder = dirname(configFilePath(env, cwd));
  return { ...camelKeys(limits), ...present({ path: path === null ? undefined : resolve(folder, path) }) };
}

/** The sections of the middlewares; keys of the file are kept. */
function chainOf(from: FileReading, models: readonly ModelConfig[]): ChainConfig {
  const { findings, env, cwd } = from.reading;
  const entries = Object.entries(chainSections).map(([key, schema]) => [key, section<z.ZodType>(schema, key, from)]);
  const chain = Object.fromEntries(entries) as ChainConfig;
  checkedModel(chain.summarization, 'summarization', { models, findings });
  checkedModel(chain.memory, 'memory', { models, findings });
  const { warn_threshold: warn, hard_limit: hard } = chain.loop_detection;
  findings.faults.push(...subagentFaults(chain.subagents, new Set(models.map(({ name }) => name))));
  if (warn >= hard) findings.faults.push('loop_detection.warn_threshold: must be less than hard_limit');
  const folder = dirname(configFilePath(env, cwd));
  const middlewares = chain.extensions.middlewares.map(({ use, options }) => ({ use: resolve(folder, use), options }));
  return { ...chain, extensions: { middlewares } };
}

interface Known {
  readonly models: readonly ModelConfig[];
  readonly findings: Findings;
}

function checkedModel<T extends { readonly model_name: string | null }>(
  settings: T,
  key: string,
  { models, findings }: Known,
): T {
  const name = settings.model_name;
  if (name !== null && !models.some((model) => model.name === name))
    findings.faults.push(`${key}.model_name: no model has this name`);
  return settings;
}

function toSandbox(value: z.output<typeof SandboxFile>): SandboxConfig {
  return {
    driver: value.driver,
    image: value.image,
    maxBoxes: value.max_boxes,
    idleMs: value.idle_ms,
    reapMs: value.reap_ms,
    leftoverGraceMs: value.leftover_grace_ms,
    ...present({ runtime: value.runtime, hostHomeDir: value.host_home_dir }),
    limits: camelKeys(value.limits),
    network: camelKeys(value.network),
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}
