import type { ChainConfig, Config } from '@caribou/config';
import type { ApprovalRule } from '@caribou/contracts';
import type { AgentMiddleware, AnyTool, ModelCatalog, ModelGate, ModelPort, SandboxPort, Skill } from '@caribou/core';
import type { UploadRecords } from '../conversation/uploads.js';
import type { ReadContext } from '../thread-context/thread-context.js';
import type { CommandPolicy } from '../command-rules/command-audit.js';

export interface ChainPorts {
  readonly sandbox: SandboxPort;
  /** Records of converted uploads; without it Markdown files are not listed to the agent. */
  readonly conversions?: UploadRecords;
  /** The model of the run. */
  readonly model: ModelPort;
  /** Limits and circuit breakers shared by all processes; without it there are none. */
  readonly gate?: ModelGate;
}

/** Sections of config.yaml by their keys in that file. A section or key that is absent takes the middleware's default. */
export type ChainSections = { readonly [K in keyof ChainConfig]?: Partial<ChainConfig[K]> } & {
  readonly title?: Partial<Config['title']>;
};

/** What the configuration and one run determine about the chain. */
export interface ChainOptions {
  readonly config?: ChainSections;
  /** Whether the model reads images. */
  readonly vision?: boolean;
  /** Whether the run is in plan mode, in which the agent maintains a to-do list. */
  readonly planMode?: boolean;
  /** Whether the agent may delegate work to subagents. */
  readonly subagents?: boolean;
  /** Whether the thread exists for one run only; false when absent. */
  readonly temporary?: boolean;
  /** Whether the agent may ask the user; true when absent. */
  readonly clarification?: boolean;
  /** The agent's tools; deferred ones are hidden while tool search is on. */
  readonly tools?: readonly AnyTool[];
  /** The models that configuration sections may name, for titles and summaries. */
  readonly models?: ModelCatalog;
  /** Rules for shell commands; the default ones when absent. */
  readonly commands?: CommandPolicy;
  /** Middlewares of the operator, in the order of the configuration. */
  readonly custom?: readonly AgentMiddleware[];
  /** Reads what the model is shown besides the conversation; nothing is shown when absent. */
  readonly context?: ReadContext;
  /** Rules of the agent for calls that a person decides, besides those of the configuration. */
  readonly approvals?: readonly ApprovalRule[];
  /** Skills of the user, including disabled ones; none when absent. */
  readonly skills?: readonly Skill[];
}

/** The options of a chain entry: those of a run, with all sections given. */
export type EntryOptions = ChainOptions & { readonly config: ChainSections };

/** One position of the chain: a built-in middleware, or those of the operator. */
export interface ChainEntry {
  readonly name: string;
  /** Why it is at this position. */
  readonly reason: string;
  /** Whether the chains of subagents omit this entry. */
  readonly leadOnly?: true;
  /** Returns why these options disable the entry; undefined when they do not. */
  readonly disabledReason?: (options: EntryOptions) => string | undefined;
  readonly create: (ports: ChainPorts, options: EntryOptions) => readonly AgentMiddleware[];
}
