export interface TaskTokenBudget {
  readonly enabled: boolean;
  readonly max_tokens: number;
  readonly warn_threshold: number;
}

/** A kind of subagent. */
export interface SubagentDefinition {
  readonly name: string;
  /** When to use it, for the model that hands work over. */
  readonly description: string;
  /** Its character and rules: ours, or the operator's. */
  readonly systemPrompt: string;
  /** Null: all of the agent that asks. */
  readonly tools: readonly string[] | null;
  /** Null: of all groups. */
  readonly toolGroups: readonly string[] | null;
  readonly disallowedTools: readonly string[];
  /** Names of the skills it is told of; null: all that are switched on for the user. */
  readonly skills: readonly string[] | null;
  /** A configured name, or `inherit`: that of the agent that asks. */
  readonly model: string;
  /** Model turns of a task. */
  readonly maxTurns: number;
  /** From when a pool took the task. */
  readonly timeoutMs: number;
  readonly tokenBudget: TaskTokenBudget;
}

export type BuiltIn = Omit<SubagentDefinition, 'timeoutMs' | 'tokenBudget'>;
