/** The data that the prompt is generated from; the same facts give the same text. */
export interface PromptFacts {
  /** Names of the model's tools; sections about other tools are omitted. */
  readonly toolNames: readonly string[];
  /** Milliseconds since the Unix epoch; the prompt contains the day in UTC. */
  readonly nowMs: number;
  /** Name of a custom agent, written by a user. */
  readonly agentName?: string;
  /** Character and rules of a custom agent, written by a user. */
  readonly soul?: string;
  /** Skills that are enabled; their texts are written by users. */
  readonly skills?: readonly SkillFact[];
  /** Whether the agent helps to create a custom agent. */
  readonly bootstrap?: BootstrapFacts;
  /** Present when the agent may delegate work. */
  readonly subagents?: SubagentFacts;
  /** How to write the plan of a complex task; a built-in text. */
  readonly planGuide?: string;
  /** Section about tools that must be looked up before use; a built-in text with escaped names. */
  readonly deferredTools?: string;
  /** The profile that the user wrote for all agents. */
  readonly profile?: string;
  /** The memory of the user, as lines with escaped text. */
  readonly memory?: string;
}

export interface BootstrapFacts {
  /** Name of the agent that is to be created, written by a user; absent while it is unknown. */
  readonly name?: string;
}

export interface SkillFact {
  readonly name: string;
  readonly description: string;
  /** Virtual path of its SKILL.md. */
  readonly location: string;
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
