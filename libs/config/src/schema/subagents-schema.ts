import { SkillName, UserId } from '@caribou/contracts';
import { z } from 'zod';
import { integer } from './kinds/setting-kinds.js';

const DAY_S = 86_400;

const seconds = () => z.int().min(1).max(DAY_S);
const turns = () => z.int().min(1).max(1_000);
const ToolNames = z.array(z.string().min(1).max(200)).max(200);

/** Skills listed in the prompt of a kind of subagent; null: all that are enabled for the user. */
const SkillNames = z.array(SkillName).max(200);

/** Name of a kind of subagent, as the model writes it. */
const AgentName = UserId.describe('Name of a subagent');

const budget = {
  enabled: z.boolean(),
  max_tokens: z.int().min(1).max(1_000_000_000),
  warn_threshold: z.number().gt(0).max(1),
};
const TaskBudget = z.object({
  enabled: budget.enabled.default(true).describe('Limit the tokens of one task'),
  max_tokens: budget.max_tokens.default(1_000_000).describe('Tokens of one task; then it returns its result so far'),
  warn_threshold: budget.warn_threshold.default(0.7).describe('Share of the limit at which the subagent is warned'),
});

/** Changes of one kind of subagent; absent settings do not change. */
const AgentOverride = z.object({
  timeout_seconds: seconds().optional(),
  max_turns: turns().optional(),
  model: z.string().min(1).optional(),
  skills: SkillNames.nullish(),
  token_budget: z.object(budget).partial().optional(),
});

const CustomAgent = z.object({
  description: z.string().min(1).max(2_000),
  system_prompt: z.string().min(1).max(100_000),
  tools: ToolNames.nullish(),
  tool_groups: ToolNames.nullish(),
  disallowed_tools: ToolNames.default(['task', 'ask_clarification', 'present_files']),
  skills: SkillNames.nullish(),
  model: z.string().min(1).default('inherit'),
  max_turns: turns().default(50),
  timeout_seconds: seconds().optional(),
});

export const SubagentsFile = z
  .object({
    enabled: z
      .boolean()
      .default(true)
      .describe('Let requests ask for subagents (`subagent_enabled`); false: no run gets the tool `task`'),
    max_concurrent: integer(3, 1, 4).describe(
      'Tasks of one answer of the model that are carried out; a request may ask for another number',
    ),
    max_total_per_run: integer(6, 1, 50).describe('Tasks of one run'),
    timeout_seconds: integer(900, 1, DAY_S).describe('How long a task may take once a pool has taken it'),
    max_turns: turns()
      .nullable()
      .default(null)
      .describe('Answers of the model in one task, for every kind; null: each kind has its own (50, and 30 for bash)'),
    token_budget: TaskBudget.prefault({}).describe('Token budget of a task'),
    slots: integer(16, 1, 1_000).describe('Tasks that one subagent-pool process works on at once'),
    max_running: integer(256, 1, 10_000).describe('Tasks that run at once, over all subagent-pools'),
    max_running_per_user: integer(32, 1, 10_000).describe('Tasks of one user that run at once'),
    max_pending: integer(1_000, 1, 10_000).describe('Tasks that run or wait; above it further tasks are refused'),
    max_pending_per_user: integer(200, 1, 10_000).describe('Tasks of one user that run or wait'),
    max_queue_seconds: integer(1_800, 1, DAY_S).describe('How long a task may wait until a pool takes it'),
    history_seconds: integer(DAY_S, 60, 30 * DAY_S).describe('How long the steps of a task can be read after its end'),
    agents: z
      .record(AgentName, AgentOverride)
      .default({})
      .describe('Changes by kind: {name: {timeout_seconds, max_turns, model, skills, token_budget}}'),
    custom_agents: z
      .record(AgentName, CustomAgent)
      .default({})
      .describe(
        'Your own kinds: {name: {description, system_prompt, tools, tool_groups, disallowed_tools, skills, model, max_turns, ' +
          'timeout_seconds}}; without tools and tool_groups they have all of the agent that asks, without skills all that are ' +
          'switched on',
      ),
  })
  .describe('Subagents');
export type SubagentsFile = z.output<typeof SubagentsFile>;

/** Built-in kinds of subagents. */
export const BUILT_IN_SUBAGENTS = ['general-purpose', 'bash'] as const;

/** Lists faults that the schema cannot find: unknown kinds and models, and names that are taken. */
export function subagentFaults(
  { agents, custom_agents: custom }: SubagentsFile,
  models: ReadonlySet<string>,
): readonly string[] {
  const builtIn = new Set<string>(BUILT_IN_SUBAGENTS);
  const isModel = (name: string | undefined): boolean => name === undefined || name === 'inherit' || models.has(name);
  return [
    ...Object.entries(agents).flatMap(([name, { model }]) => [
      ...(builtIn.has(name) || Object.hasOwn(custom, name)
        ? []
        : [`subagents.agents.${name}: there is no such subagent`]),
      ...(isModel(model) ? [] : [`subagents.agents.${name}.model: no model has this name`]),
    ]),
    ...Object.entries(custom).flatMap(([name, { model }]) => [
      ...(builtIn.has(name) ? [`subagents.custom_agents.${name}: this name is a built-in subagent's`] : []),
      ...(isModel(model) ? [] : [`subagents.custom_agents.${name}.model: no model has this name`]),
    ]),
  ];
}

/** Replaces models that are not supported by `inherit`, the model of the calling agent. */
export function withoutModels(section: SubagentsFile, leftOut: ReadonlySet<string>): SubagentsFile {
  const replaceModels = <T extends { readonly model?: string | undefined }>(agents: Readonly<Record<string, T>>) =>
    Object.fromEntries(
      Object.entries(agents).map(([name, agent]) => [
        name,
        agent.model !== undefined && leftOut.has(agent.model) ? { ...agent, model: 'inherit' } : agent,
      ]),
    );
  return { ...section, agents: replaceModels(section.agents), custom_agents: replaceModels(section.custom_agents) };
}
