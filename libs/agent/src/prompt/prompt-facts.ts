/** What the prompt is made from: data only, so the same facts give the same text. */
export interface PromptFacts {
  /** Names of the tools the model is given; what is said of others is left out. */
  readonly toolNames: readonly string[];
  /** Milliseconds since the Unix epoch; the prompt tells the day in UTC. */
  readonly nowMs: number;
  /** Name of a custom agent; a user's text. */
  readonly agentName?: string;
  /** Character and rules of a custom agent; a user's text. */
  readonly soul?: string;
  /** Skills that are switched on; texts of users. */
  readonly skills?: readonly SkillFact[];
  /** The agent helps to make a custom agent. */
  readonly bootstrap?: BootstrapFacts;
  /** Present when the agent may hand work over. */
  readonly subagents?: SubagentFacts;
  /** How the plan of a complex task is kept; ours. */
  readonly planGuide?: string;
  /** Section about tools that are looked up first; ours, with names escaped. */
  readonly deferredTools?: string;
  /** What the person tells all agents; a user's text. */
  readonly profile?: string;
  /** What is remembered of the person: lines in which what others said is escaped. */
  readonly memory?: string;
}

export interface BootstrapFacts {
  /** Of the agent to be made; a user's text. Absent: not known yet. */
  readonly name?: string;
}

export interface SkillFact {
  readonly name: string;
  readonly description: string;
  /** Virtual path of its SKILL.md. */
  readonly location: string;
}

export interface SubagentFacts {
  /** Tasks of one answer that are carried out. */
  readonly maxConcurrent: number;
  readonly types: readonly { readonly name: string; readonly description: string }[];
}

export const has = ({ toolNames }: Pick<PromptFacts, 'toolNames'>, ...names: readonly string[]): boolean =>
  names.some((name) => toolNames.includes(name));

/** Lines that apply, one below the other. */
export const lines = (...entries: readonly (string | false)[]): string =>
  entries.filter((entry) => entry !== false).join('\n');
