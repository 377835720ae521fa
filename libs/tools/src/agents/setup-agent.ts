import { AgentDescription, AgentSoul, type CustomAgent, MAX_AGENTS, NO_MODEL_SETTINGS } from '@caribou/contracts';
import { type AgentStore, type AnyTool, defineTool, type ToolOutcome } from '@caribou/core';
import { z } from 'zod';
import { toFailedOutcome } from '../sandbox/sandbox-request.js';

const Input = z.object({
  soul: AgentSoul.trim()
    .min(1)
    .describe(
      'The whole SOUL.md in Markdown: who the agent is, what it does, how it speaks, what it never does. It becomes a ' +
        "part of the agent's instructions as it stands, so speak to the agent.",
    ),
  description: AgentDescription.min(1).describe('One line for the person, shown in the list of agents.'),
});

const NO_NAME =
  'The agent has no name yet: the message did not bring one. Go on with the conversation; the next message of the person ' +
  'brings the name they chose.';

/**
 * Creates the custom agent that the run is about. It is stored before the result is published, as clients request it at
 * once. A call writes once, even after a takeover; only the same conversation may replace its agent.
 */
export function setupAgentTool(agents: Pick<AgentStore, 'read' | 'write'>): AnyTool {
  return defineTool({
    name: 'setup_agent',
    description:
      'Make the custom agent that this conversation is about, once the person agrees to what it shall be. Calling it ' +
      'again in this conversation replaces soul and description.',
    input: Input,
    async run({ soul, description }, { run, key }) {
      const { agent_name: name } = run.context;
      if (name === undefined) return toFailedOutcome(NO_NAME);
      const before = await agents.read(run.userId, name);
      if (before !== null && before.made_in !== run.threadId) return toFailedOutcome(nameTakenText(name));
      const agent: CustomAgent = { ...(before ?? settingsOf(name)), soul, description };
      const write = { agent, madeIn: run.threadId, expected: before?.version ?? 0, call: key };
      const { outcome } = await agents.write(run.userId, write);
      if (outcome === 'full')
        return toFailedOutcome(`The person has ${MAX_AGENTS} agents already. One must be deleted first.`);
      if (outcome === 'removed')
        return toFailedOutcome(`Agent '${name}' was made by this call, and deleted since. It stays deleted.`);
      return outcome === 'changed' ? toFailedOutcome(nameTakenText(name)) : createdOutcome(name);
    },
  });
}

const settingsOf = (name: string): Omit<CustomAgent, 'soul' | 'description'> => ({
  name,
  model: null,
  tool_groups: null,
  skills: null,
  ...NO_MODEL_SETTINGS,
});

const nameTakenText = (name: string): string =>
  `There is an agent named '${name}' already, which this conversation did not make or somebody changed just now; it stays ` +
  'as it is. Tell the person: they may choose another name, or change that agent in a conversation with it.';

const createdOutcome = (name: string): ToolOutcome => ({
  content: `Agent '${name}' created successfully!`,
  update: { created_agent_name: name },
});
