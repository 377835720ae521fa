/**
 * The data that the system prompt is generated from; the same facts give the same text. What changes between the runs of a
 * thread is no part of it: `contextFacts`.
 */
export interface PromptFacts {
  /** Names of the model's tools; sections about other tools are omitted. */
  readonly toolNames: readonly string[];
  /** Name of a custom agent, written by a user. */
  readonly agentName?: string;
  /** Character and rules of a custom agent, written by a user. */
  readonly soul?: string;
  /** Whether the agent helps to create a custom agent. */
  readonly bootstrap?: BootstrapFacts;
  /** Present when the agent may delegate work. */
  readonly subagents?: SubagentFacts;
  /** How to write the plan of a complex task; a built-in text. */
  readonly planGuide?: string;
}

export interface BootstrapFacts {
  /** Name of the agent that is to be created, written by a user; absent while it is unknown. */
  readonly name?: string;
  /** Virtual path of the SKILL.md about custom agents. */
  readonly skillLocation?: string;
}

export interface SubagentFacts {
  /** Maximum number of tasks of one answer that are executed. */
  readonly maxConcurrent: number;
  readonly types: readonly { readonly name: string; readonly description: string }[];
}

export const has = ({ toolNames }: Pick<PromptFacts, 'toolNames'>, ...names: readonly string[]): boolean =>
  names.some((name) => toolNames.includes(name));

/** Joins the lines that apply. */
export const lines = (...entries: readonly (string | false)[]): string =>
  entries.filter((entry) => entry !== false).join('\n');
