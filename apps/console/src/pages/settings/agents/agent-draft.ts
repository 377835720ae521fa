import type { AgentChanges } from '@caribou/contracts';
import type { Agent } from './api.js';

/** What a person edits of an agent. Texts are as they stand in the form; '' in a choice means "as configured". */
export interface AgentDraft {
  readonly description: string;
  readonly model: string;
  /** Names, with commas between them; '' and `isLimited` false: all. */
  readonly toolGroups: string;
  readonly limitsToolGroups: boolean;
  readonly skills: readonly string[];
  readonly limitsSkills: boolean;
  readonly temperature: string;
  readonly maxTokens: string;
  readonly thinking: '' | 'on' | 'off';
  readonly effort: '' | Effort;
  /** Rules as JSON; empty: none. */
  readonly approvals: string;
  readonly soul: string;
}

export type Effort = NonNullable<Agent['reasoning_effort']>;
export const EFFORTS: readonly Effort[] = ['minimal', 'low', 'medium', 'high'];

export const EMPTY_DRAFT: AgentDraft = {
  description: '',
  model: '',
  toolGroups: '',
  limitsToolGroups: false,
  skills: [],
  limitsSkills: false,
  temperature: '',
  maxTokens: '',
  thinking: '',
  effort: '',
  approvals: '',
  soul: '',
};

/** An agent as it is edited. */
export const toDraft = (agent: Agent): AgentDraft => ({
  description: agent.description,
  model: agent.model ?? '',
  toolGroups: (agent.tool_groups ?? []).join(', '),
  limitsToolGroups: agent.tool_groups !== null,
  skills: agent.skills ?? [],
  limitsSkills: agent.skills !== null,
  temperature: numberText(agent.model_settings?.temperature),
  maxTokens: numberText(agent.model_settings?.max_tokens),
  thinking: agent.thinking_enabled === null ? '' : agent.thinking_enabled ? 'on' : 'off',
  effort: agent.reasoning_effort ?? '',
  approvals: agent.approvals === null ? '' : JSON.stringify(agent.approvals, null, 2),
  soul: agent.soul ?? '',
});

const numberText = (value: number | null | undefined): string =>
  value === null || value === undefined ? '' : String(value);

/** Faults of the fields, as a person reads them; the server checks the rest. */
export type DraftFaults = Partial<Record<'temperature' | 'maxTokens' | 'approvals', DraftFault>>;
export type DraftFault = 'temperature' | 'maxTokens' | 'json' | 'list';

export function faultsOf({ temperature, maxTokens, approvals }: AgentDraft): DraftFaults {
  const rules = parseRules(approvals);
  return {
    ...(isNumber(temperature, 0, 2) ? {} : { temperature: 'temperature' as const }),
    ...(isNumber(maxTokens, 1, 1_000_000) && !/[.,]/.test(maxTokens) ? {} : { maxTokens: 'maxTokens' as const }),
    ...(typeof rules === 'string' ? { approvals: rules } : {}),
  };
}

function isNumber(text: string, min: number, max: number): boolean {
  if (text.trim() === '') return true;
  const value = Number(text);
  return Number.isFinite(value) && value >= min && value <= max;
}

/** The rules of a text, null for none, or what is wrong with it. */
function parseRules(text: string): readonly unknown[] | null | 'json' | 'list' {
  if (text.trim() === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as unknown[]) : 'list';
  } catch (error) {
    if (error instanceof SyntaxError) return 'json';
    throw error;
  }
}

const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text));

const namesIn = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean),
  ),
];

/** The fields of a draft without faults as the server takes them. */
export function toFields(draft: AgentDraft): Omit<AgentChanges, 'version'> {
  const [temperature, maxTokens] = [numberOf(draft.temperature), numberOf(draft.maxTokens)];
  const rules = parseRules(draft.approvals);
  return {
    description: draft.description,
    model: draft.model === '' ? null : draft.model,
    tool_groups: draft.limitsToolGroups ? namesIn(draft.toolGroups) : null,
    skills: draft.limitsSkills ? [...draft.skills] : null,
    model_settings: temperature === null && maxTokens === null ? null : { temperature, max_tokens: maxTokens },
    thinking_enabled: draft.thinking === '' ? null : draft.thinking === 'on',
    reasoning_effort: draft.effort === '' ? null : draft.effort,
    // The server checks each rule and names the field.
    approvals: (typeof rules === 'string' ? null : rules) as AgentChanges['approvals'] & {},
    soul: draft.soul,
  };
}

export type AgentField = keyof AgentDraft;

/** The fields of two drafts that differ, in the order of the form. */
export const differences = (one: AgentDraft, other: AgentDraft): readonly AgentField[] =>
  (Object.keys(EMPTY_DRAFT) as AgentField[]).filter((field) => textOf(one, field) !== textOf(other, field));

/** A field of a draft as text, to compare it. */
export const textOf = (draft: AgentDraft, field: AgentField): string => {
  const value = draft[field];
  return typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : String(value);
};

/** Whether a text can be the name of an agent. */
export const isAgentName = (name: string): boolean => /^[A-Za-z0-9-]{1,64}$/.test(name);
