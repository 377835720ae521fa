import type { CommandRule, NatsSecurity, RedisSecurity } from '@caribou/contracts';
import type { z } from 'zod';
import type { AgentsApiFile } from '../schema/agents-schema.js';
import type { AuthFile } from '../schema/auth-schema.js';
import type { CamelKeys } from '../common/camel-keys.js';
import type { ChainConfig } from '../schema/chain-schema.js';
import type { ClocksFile, logLevels, RunnerFile, TitleFile, UploadsFile } from '../schema/file-schema.js';
import type { QuotasFile } from '../schema/quotas-schema.js';
import type { McpFile } from '../schema/mcp-schema.js';
import type { Secret } from '../common/secret.js';
import type { SuggestionsFile } from '../schema/suggestions-schema.js';
import type { SandboxConfig } from './sandbox-config.js';
import type { WebConfig } from './web-config.js';

export type ClocksConfig = CamelKeys<z.output<typeof ClocksFile>>;
export type RunnerConfig = CamelKeys<z.output<typeof RunnerFile>>;
export type QuotasConfig = CamelKeys<z.output<typeof QuotasFile>>;
export type TitleConfig = CamelKeys<z.output<typeof TitleFile>>;
export type SuggestionsConfig = CamelKeys<z.output<typeof SuggestionsFile>>;
/** Sizes in bytes. */
export type UploadsConfig = CamelKeys<z.output<typeof UploadsFile>>;
/** Whether users make and change custom agents. */
export type AgentsApiConfig = z.output<typeof AgentsApiFile>;
/** What holds for all MCP servers. */
export type McpConfig = CamelKeys<z.output<typeof McpFile>>;
/** Sign-in of people. */
export type AuthConfig = CamelKeys<Omit<z.output<typeof AuthFile>, 'local'>> & { readonly allowRegistration: boolean };
export type LogLevelName = (typeof logLevels)[number];

/** Who a key speaks for. */
export interface ApiKey {
  readonly key: Secret;
  readonly userId: string;
  readonly admin: boolean;
}

export interface HttpConfig {
  /** Loopback unless there are API keys or `allowUnauthenticated` is set, or people sign in and another one was named. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Empty: programs have no keys; without sign-in of people, authentication is off. */
  readonly apiKeys: readonly ApiKey[];
  readonly allowUnauthenticated: boolean;
  /** Allowed origins; empty: any http(s) origin on localhost and 127.0.0.1. */
  readonly corsOrigins: readonly string[];
  readonly bodyLimitBytes: number;
}

/** Rules for shell commands: those that ship as they are changed here, then the operator's own. */
export interface CommandRulesConfig {
  readonly maxChars: number;
  readonly rules: readonly CommandRule[];
}

export interface SkillsConfig {
  /** Absolute path of the folder for all users; absent: the skills that ship. */
  readonly path?: string;
  readonly maxInstalled: number;
  readonly maxInstalledBytes: number;
}

export interface ModelConfig {
  /** Name that requests use; unique. */
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  /** The provider's name of the model. */
  readonly model: string;
  /** Absent: requests carry no Authorization header. */
  readonly apiKey?: Secret;
  readonly baseUrl: string;
  readonly maxTokens?: number;
  /** What the model can read, in tokens. */
  readonly maxInputTokens?: number;
  readonly temperature?: number;
  readonly supportsThinking: boolean;
  readonly supportsVision: boolean;
  readonly supportsReasoningEffort: boolean;
  readonly sendReasoning: boolean;
  /** Body fields while thinking is on, `thinking` already merged in. Absent: the model has no such switch. */
  readonly whenThinkingEnabled?: Readonly<Record<string, unknown>>;
  /** Body fields while thinking is off. Absent: what turns `whenThinkingEnabled` off. */
  readonly whenThinkingDisabled?: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, Secret>>;
  /** Further fields of the request's body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Why the model cannot be called, in the operator's words; it is listed and refuses calls with this text. */
  readonly problem?: string;
}

/** A tool of the operator. */
export interface CustomToolConfig {
  /** `tools[3]`, for messages. */
  readonly key: string;
  /** As the model knows it; the module's definition must have the same. */
  readonly name: string;
  readonly group?: string;
  /** `/absolute/file.mjs#export`. */
  readonly use: string;
  /** Further keys of the entry; they may hold passwords. */
  readonly options: Secret<Readonly<Record<string, unknown>>>;
}

/** What `tools` and `tool_groups` say. */
export interface ToolsConfig {
  /** Names of built-in tools that the list leaves out. */
  readonly hidden: readonly string[];
  /** Groups that the file gives to built-in tools, by name; the others keep their own. */
  readonly groups: Readonly<Record<string, string>>;
  /** Names of all groups there are: those that `tool_groups` declares, and those that tools are in. */
  readonly groupNames: readonly string[];
  readonly custom: readonly CustomToolConfig[];
}

/** Everything a service is told from outside: parsed once at the start, frozen. */
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
  /** Absolute path; the file need not exist. */
  readonly extensionsConfigPath: string;
  readonly logLevel: LogLevelName;
  /** Port of /health, /ready and /metrics of the services without an HTTP surface; 0 takes any free port. */
  readonly healthPort: number;
  /** Base URL of an OTLP/HTTP collector of traces; absent: no traces. */
  readonly otlpEndpoint?: Secret;
  readonly clocks: ClocksConfig;
  readonly runner: RunnerConfig;
  readonly quotas: QuotasConfig;
  readonly sandbox: SandboxConfig;
  readonly commandRules: CommandRulesConfig;
  readonly uploads: UploadsConfig;
  readonly skills: SkillsConfig;
  readonly agentsApi: AgentsApiConfig;
  readonly web: WebConfig;
  readonly mcp: McpConfig;
  readonly auth: AuthConfig;
  /** In the order of the file; the first is the default. */
  readonly models: readonly ModelConfig[];
  readonly title: TitleConfig;
  readonly suggestions: SuggestionsConfig;
  readonly tools: ToolsConfig;
  /** Sections of the middlewares, by their key in the file. */
  readonly chain: ChainConfig;
  /** What was asked for and is not there, one line each, with what to do. */
  readonly warnings: readonly string[];
  /** What was read and is done in another way, one line each. */
  readonly notices: readonly string[];
  /** Why a turn would not run, one line each: no model, or a model without its key. */
  readonly problems: readonly string[];
}
