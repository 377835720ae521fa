import type { ChainConfig, Config } from '@caribou/config';
import type {
  AgentMiddleware,
  AnyTool,
  ConversionStore,
  ModelCatalog,
  ModelGate,
  ModelPort,
  SandboxPort,
  Skill,
} from '@caribou/core';
import type { CommandPolicy } from '../command-rules/command-audit.js';

export interface ChainPorts {
  readonly sandbox: SandboxPort;
  /** What is known of the Markdown of uploaded documents; without it none is named to the agent. */
  readonly conversions?: Pick<ConversionStore, 'read' | 'uploadsSince'>;
  /** The model of the run. */
  readonly model: ModelPort;
  /** Limits and circuit breakers that all processes share; without it there are none. */
  readonly gate?: ModelGate;
}

/** Sections of config.yaml by their keys in that file. A section or key that is absent takes the middleware's default. */
export type ChainSections = { readonly [K in keyof ChainConfig]?: Partial<ChainConfig[K]> } & {
  readonly title?: Partial<Config['title']>;
};

/** What the configuration and one run decide about the chain. */
export interface ChainOptions {
  readonly config?: ChainSections;
  /** The model reads images. */
  readonly vision?: boolean;
  /** The agent keeps a plan. */
  readonly planMode?: boolean;
  /** The agent may hand work to subagents. */
  readonly subagents?: boolean;
  /** The agent may ask the person; true when absent. */
  readonly clarification?: boolean;
  /** The agent's own tools: those that are marked deferred are hidden while tool search is on. */
  readonly tools?: readonly AnyTool[];
  /** The models that sections may name, for titles and summaries. */
  readonly models?: ModelCatalog;
  /** Rules for shell commands; the ones that ship when absent. */
  readonly commands?: CommandPolicy;
  /** Middlewares of the operator, in the order of the configuration. */
  readonly custom?: readonly AgentMiddleware[];
  /** Skills of the user, those that are switched off included. Absent: none. */
  readonly skills?: readonly Skill[];
}

/** What an entry of the chain reads: the options of a run, with the sections that are there. */
export type EntryOptions = ChainOptions & { readonly config: ChainSections };

/** One position of the chain: a middleware of ours, or those of the operator. */
export interface ChainEntry {
  readonly name: string;
  /** Why it is at this position. */
  readonly reason: string;
  /** A subagent's chain does not have it. */
  readonly leadOnly?: true;
  /** Why these options leave it out; undefined when they do not. */
  readonly disabledReason?: (options: EntryOptions) => string | undefined;
  readonly create: (ports: ChainPorts, options: EntryOptions) => readonly AgentMiddleware[];
}
