export interface TaskTokenBudget {
  readonly enabled: boolean;
  readonly max_tokens: number;
  readonly warn_threshold: number;
}

/** A kind of subagent. */
export interface SubagentDefinition {
  readonly name: string;
  /** Describes for the calling model when to use it. */
  readonly description: string;
  /** Its character and rules, built-in or the operator's. */
  readonly systemPrompt: string;
  /** Names of its tools; null: all tools of the calling agent. */
  readonly tools: readonly string[] | null;
  /** Names of its tool groups; null: all groups. */
  readonly toolGroups: readonly string[] | null;
  readonly disallowedTools: readonly string[];
  /** Names of the skills in its prompt; null: all that are enabled for the user. */
  readonly skills: readonly string[] | null;
  /** A configured name, or `inherit` for the model of the calling agent. */
  readonly model: string;
  /** Maximum number of model turns of a task. */
  readonly maxTurns: number;
  /** Time limit, which begins when a pool starts the task. */
  readonly timeoutMs: number;
  readonly tokenBudget: TaskTokenBudget;
}

export type BuiltIn = Omit<SubagentDefinition, 'timeoutMs' | 'tokenBudget'>;
