import { z } from 'zod';
import { AgentApprovals } from './approval-rules.js';
import { MaxTokens, ReasoningEffort, Temperature } from './call-settings.js';
import { SkillName } from './skills.js';

/** Bounds of a custom agent. Characters are UTF-16 units. */
export const MAX_SOUL_CHARS = 32_000;
const MAX_DESCRIPTION_CHARS = 1_000;
/** Maximum number of custom agents of one user. */
export const MAX_AGENTS = 100;
/** Maximum length of a user's profile. */
const MAX_PROFILE_CHARS = 8_000;

/** Names that have another meaning: the lead agent, and names used by routes and clients. */
const RESERVED: ReadonlySet<string> = new Set(['lead-agent', 'default', 'check', 'new']);

/** Valid names of custom agents; stored in lower case. */
export const AgentNamePattern = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be 1 to 64 letters, digits or "-"')
  .toLowerCase();

export const isReservedAgent = (name: string): boolean => RESERVED.has(name);

/** Name of a custom agent that can be created. */
export const AgentName = AgentNamePattern.refine((name) => !isReservedAgent(name), 'is reserved; choose another name');

/** The custom agent with an assistant id; undefined when the id is not a valid agent name. */
export function agentOfAssistant(assistantId: string): string | undefined {
  const parsed = AgentName.safeParse(assistantId.replaceAll('_', '-'));
  return parsed.success ? parsed.data : undefined;
}

const atMost = (limit: number): string => `must have at most ${limit} characters`;

export const AgentSoul = z.string().max(MAX_SOUL_CHARS, atMost(MAX_SOUL_CHARS));
export const AgentDescription = z.string().trim().max(MAX_DESCRIPTION_CHARS, atMost(MAX_DESCRIPTION_CHARS));
/** Configured name of its model; null: the default model. */
export const AgentModel = z.string().min(1).max(200).nullable();
/** Tool groups it has, in addition to tools without a group; null: all. */
export const AgentToolGroups = z.array(z.string().min(1).max(100)).max(100).nullable();
/** Skills it may use; null: all enabled ones. */
export const AgentSkills = z.array(SkillName).max(200).nullable();

/** Model parameters; null: as the model is configured. */
export const AgentModelSettings = z
  .strictObject({
    temperature: Temperature.nullable().default(null),
    max_tokens: MaxTokens.nullable().default(null).describe('The configured limit still applies'),
  })
  .nullable();
/** Whether its model uses thinking; null: as the run requests. */
export const AgentThinking = z.boolean().nullable();
/** null: as the run requests. */
export const AgentEffort = ReasoningEffort.nullable();

/** Settings of an agent for which none were chosen. */
export const NO_MODEL_SETTINGS = {
  model_settings: null,
  thinking_enabled: null,
  reasoning_effort: null,
  approvals: null,
} as const;

/** An agent that a user created: its character, model, tools and skills. */
export const CustomAgent = z.object({
  name: AgentName,
  description: AgentDescription,
  model: AgentModel,
  tool_groups: AgentToolGroups,
  skills: AgentSkills,
  model_settings: AgentModelSettings.default(null),
  thinking_enabled: AgentThinking.default(null),
  reasoning_effort: AgentEffort.default(null),
  approvals: AgentApprovals.default(null),
  /** Who it is and how it behaves: a part of its system prompt. */
  soul: AgentSoul,
});
export type CustomAgent = z.infer<typeof CustomAgent>;

export const UserProfile = z.string().max(MAX_PROFILE_CHARS, atMost(MAX_PROFILE_CHARS));
