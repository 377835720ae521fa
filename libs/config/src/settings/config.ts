import type { CommandRule, NatsSecurity, RedisSecurity } from '@caribou/contracts';
import type { z } from 'zod';
import type { AgentsApiFile } from '../schema/agents-schema.js';
import type { AnthropicConfig } from '../common/anthropic-config.js';
import type { AuthFile } from '../schema/auth-schema.js';
import type { CamelKeys } from '../common/camel-keys.js';
import type { ChainConfig } from '../schema/chain-schema.js';
import type { DialectName, ProtocolName } from '../common/dialects.js';
import type { logLevels, RunnerFile, TitleFile, UploadsFile } from '../schema/file-schema.js';
import type { QuotasFile } from '../schema/quotas-schema.js';
import type { UsageFile } from '../schema/usage-schema.js';
import type { ClocksFile, CronsFile, ExplainFile } from '../schema/timers-schema.js';
import type { McpFile } from '../schema/mcp-schema.js';
import type { Secret } from '../common/secret.js';
import type { InputPolishFile } from '../schema/input-polish-schema.js';
import type { SuggestionsFile } from '../schema/suggestions-schema.js';
import type { SandboxConfig } from './sandbox-config.js';
import type { WebConfig } from './web-config.js';
import type { FilesConfig } from './files-config.js';
import type { WebhooksConfig } from './webhooks-config.js';

export type ClocksConfig = CamelKeys<z.output<typeof ClocksFile>>;
export type RunnerConfig = CamelKeys<z.output<typeof RunnerFile>>;
export type QuotasConfig = CamelKeys<z.output<typeof QuotasFile>>;
export type ExplainConfig = CamelKeys<z.output<typeof ExplainFile>>;
export type CronsConfig = CamelKeys<z.output<typeof CronsFile>>;
export type UsageConfig = CamelKeys<z.output<typeof UsageFile>>;
export type TitleConfig = CamelKeys<z.output<typeof TitleFile>>;
/** An OpenAI-compatible endpoint for vectors of texts. */
export interface EmbeddingsConfig {
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey?: Secret;
  readonly dimensions?: number;
  readonly timeoutMs: number;
}

export type InputPolishConfig = CamelKeys<z.output<typeof InputPolishFile>>;
export type SuggestionsConfig = CamelKeys<z.output<typeof SuggestionsFile>>;
/** Sizes in bytes. */
export type UploadsConfig = CamelKeys<z.output<typeof UploadsFile>>;
/** Whether users may create and change custom agents. */
export type AgentsApiConfig = z.output<typeof AgentsApiFile>;
/** Settings for all MCP servers. */
export type McpConfig = CamelKeys<z.output<typeof McpFile>>;
/** Sign-in of users. */
export type AuthConfig = CamelKeys<Omit<z.output<typeof AuthFile>, 'local'>> & { readonly allowRegistration: boolean };
export type LogLevelName = (typeof logLevels)[number];

/** An API key with its user. */
export interface ApiKey {
  readonly key: Secret;
  readonly userId: string;
  readonly admin: boolean;
}

export interface HttpConfig {
  /** Loopback unless there are API keys, `allowUnauthenticated` is set, or users sign in and HOST names another address. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** When empty and without sign-in of users, authentication is off. */
  readonly apiKeys: readonly ApiKey[];
  readonly allowUnauthenticated: boolean;
  /** Allowed origins; empty: any http(s) origin on localhost and 127.0.0.1. */
  readonly corsOrigins: readonly string[];
  readonly bodyLimitBytes: number;
}

/** Rules for shell commands: the built-in ones with the operator's changes, then the operator's own. */
export interface CommandRulesConfig {
  readonly maxChars: number;
  readonly rules: readonly CommandRule[];
}

export interface SkillsConfig {
  /** Absolute path of the folder for all users; absent: the built-in skills. */
  readonly path?: string;
  readonly maxInstalled: number;
  readonly maxInstalledBytes: number;
}

/** Prices of a million tokens. */
export interface ModelPricing {
  /** ISO 4217. */
  readonly currency: string;
  readonly input: number;
  /** Of input that the provider had in its cache. */
  readonly cachedInput: number;
  /** Of input that the provider put into its cache. */
  readonly cacheWrite: number;
  readonly output: number;
  /** Of output that is reasoning. */
  readonly reasoning: number;
}

/** An export of a module that answers for a model. */
export interface ModelModuleConfig {
  /** Absolute path and export, such as `/path/file.mjs#name`. */
  readonly use: string;
  /** The same without the folder, for messages. */
  readonly shown: string;
  /** Keys of the entry for the module; they may hold passwords. */
  readonly options: Secret<Readonly<Record<string, unknown>>>;
}

export interface ModelConfig {
  /** Name that requests use; unique. */
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  /** The provider's name of the model. */
  readonly model: string;
  readonly protocol: ProtocolName;
  readonly dialect: DialectName;
  /** The operator's module that asks the model, with protocol `module` only. */
  readonly module?: ModelModuleConfig;
  /** Requests have no Authorization header when absent. */
  readonly apiKey?: Secret;
  readonly baseUrl: string;
  readonly maxTokens?: number;
  /** Size of the model's context, in tokens. */
  readonly maxInputTokens?: number;
  readonly temperature?: number;
  /** Absent: calls of the model are counted and cost nothing. */
  readonly pricing?: ModelPricing;
  readonly supportsThinking: boolean;
  readonly supportsVision: boolean;
  readonly supportsReasoningEffort: boolean;
  /** Names of models that answer when this one cannot. */
  readonly fallbacks: readonly string[];
  /** Whether the reasoning of earlier answers is sent back; absent: as the dialect does. */
  readonly sendReasoning?: boolean;
  /** Body fields while thinking is on, with `thinking` merged in; absent when the model has no such switch. */
  readonly whenThinkingEnabled?: Readonly<Record<string, unknown>>;
  /** Body fields while thinking is off; default: the inverse of `whenThinkingEnabled`. */
  readonly whenThinkingDisabled?: Readonly<Record<string, unknown>>;
  /** Present with the protocol `messages`. */
  readonly anthropic?: AnthropicConfig;
  readonly headers: Readonly<Record<string, Secret>>;
  /** Query parameters of each request, such as Azure's `api-version`; absent: none. */
  readonly query?: Readonly<Record<string, string>>;
  /** Further fields of the request's body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Why the model cannot be called, for the operator; it is listed and refuses calls with this text. */
  readonly problem?: string;
}

/** A tool of the operator. */
export interface CustomToolConfig {
  /** Path of the entry for messages, such as `tools[3]`. */
  readonly key: string;
  /** Name for the model; the definition in the module must have the same. */
  readonly name: string;
  readonly group?: string;
  /** Absolute path and export, such as `/path/file.mjs#name`. */
  readonly use: string;
  /** Further keys of the entry; they may hold passwords. */
  readonly options: Secret<Readonly<Record<string, unknown>>>;
}

/** The sections `tools` and `tool_groups`. */
export interface ToolsConfig {
  /** Names of built-in tools that the list leaves out. */
  readonly hidden: readonly string[];
  /** Groups of built-in tools that the file changes, by tool. */
  readonly groups: Readonly<Record<string, string>>;
  /** Names of all groups: declared in `tool_groups`, built in, or named by a tool. */
  readonly groupNames: readonly string[];
  readonly custom: readonly CustomToolConfig[];
}

/** The configuration of a service, parsed once at the start and frozen. */
export interface Config {
  readonly http: HttpConfig;
  /** URLs may hold passwords. */
  readonly nats: { readonly url: Secret; readonly security: Secret<NatsSecurity>; readonly replicas: number };
  readonly redis: {
    readonly url: Secret;
    readonly security: Secret<RedisSecurity>;
    readonly fsync: 'everysec' | 'always';
  };
  /** Absolute path of the data volume. */
  readonly homeDir: string;
  /** Absolute path of the directory for sockets and process records, which belong to one machine: CARIBOU_RUN_DIR. */
  readonly runDir: string;
  /** Absolute path; the file need not exist. */
  readonly extensionsConfigPath: string;
  readonly logLevel: LogLevelName;
  /** Host at which the services without an HTTP surface serve /health, /ready and /metrics, without authentication. */
  readonly healthHost: string;
  /** Port of /health, /ready and /metrics of the services without an HTTP surface; 0 takes any free port. */
  readonly healthPort: number;
  /** Base URL of an OTLP/HTTP collector of traces; absent: no traces. */
  readonly otlpEndpoint?: Secret;
  readonly clocks: ClocksConfig;
  readonly runner: RunnerConfig;
  /** Whether threads are written in forms that services of earlier versions cannot read. */
  readonly store: { readonly compact: boolean; readonly embeddings?: EmbeddingsConfig };
  readonly quotas: QuotasConfig;
  readonly usage: UsageConfig;
  readonly crons: CronsConfig;
  /** Traces of runs. */
  readonly explain: ExplainConfig;
  /** Absent: files lie on a data volume that all machines share. */
  readonly files?: FilesConfig;
  readonly webhooks: WebhooksConfig;
  readonly sandbox: SandboxConfig;
  readonly commandRules: CommandRulesConfig;
  readonly uploads: UploadsConfig;
  readonly skills: SkillsConfig;
  readonly agentsApi: AgentsApiConfig;
  readonly web: WebConfig;
  readonly mcp: McpConfig;
  readonly auth: AuthConfig;
  /** The models in the order of the file; the first is the default. */
  readonly models: readonly ModelConfig[];
  readonly title: TitleConfig;
  readonly suggestions: SuggestionsConfig;
  readonly inputPolish: InputPolishConfig;
  readonly tools: ToolsConfig;
  /** Sections of the middlewares, by their key in the file. */
  readonly chain: ChainConfig;
  /** Where the configuration comes from; `referenced` are the values of the variables that the file refers to. */
  readonly origins: {
    /** Sections that the file has. */
    readonly sections: readonly string[];
    /** Names of the variables that are set, of those that are read. */
    readonly variables: readonly string[];
    readonly referenced: Secret<readonly string[]>;
  };
  /** Settings without effect, one line each, with what to do instead. */
  readonly warnings: readonly string[];
  /** Settings that are applied in another way than the file says, one line each. */
  readonly notices: readonly string[];
  /** Why turns cannot run, one line each: no model, or a model without its key. */
  readonly problems: readonly string[];
}
