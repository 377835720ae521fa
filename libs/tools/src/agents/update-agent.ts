import { AgentDescription, AgentModel, AgentSkills, AgentSoul, AgentToolGroups } from '@caribou/contracts';
import {
  findAgentFault,
  type AgentStore,
  type AnyTool,
  defineTool,
  type InstalledForAgents,
  type StoredAgent,
} from '@caribou/core';
import { z } from 'zod';
import { toFailedOutcome } from '../sandbox/sandbox-request.js';

const Changes = z.object({
  soul: AgentSoul.trim()
    .min(1)
    .optional()
    .describe('The whole new SOUL.md, in the place of the one in your instructions.'),
  description: AgentDescription.optional().describe('One line for the person.'),
  skills: AgentSkills.optional().describe('Names of the skills you are told of; null: all.'),
  tool_groups: AgentToolGroups.optional().describe('Groups of tools you have; null: all.'),
  model: AgentModel.optional().describe('Name of your model; null: the default.'),
});
type Changes = z.output<typeof Changes>;

export interface UpdateAgentParts {
  readonly agents: Pick<AgentStore, 'read' | 'write'>;
  readonly known: InstalledForAgents;
  /** The agent as in the run's prompt. */
  readonly shown: StoredAgent;
}

/** Calls of one answer run concurrently; each lost race means that one of them wrote. */
const MAX_ATTEMPTS = 8;

/**
 * Changes the custom agent that executes the run. Changes made by others since the run began are not overwritten: the
 * model gets them and may call again. A call writes once, even after a takeover.
 */
export function updateAgentTool({ agents, known, shown }: UpdateAgentParts): AnyTool {
  let seen = shown.version;
  return defineTool({
    name: 'update_agent',
    description:
      'Change yourself for good, when the person asks for it: your soul (your SOUL.md), description, skills, tool groups ' +
      'or model. Name only what changes. It holds from the next message on, in every conversation with you.',
    input: Changes,
    async run(changes, { run, key }) {
      const named = dropUndefined(changes);
      const fault =
        Object.keys(named).length === 0 ? 'name at least one thing to change' : findAgentFault(named, known);
      if (fault !== undefined) return toFailedOutcome(fault);
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const before = await agents.read(run.userId, shown.name);
        if (before === null) return toFailedOutcome('You were deleted meanwhile: there is nothing to change any more.');
        if (before.version !== seen) {
          seen = before.version;
          return toFailedOutcome(formatConflict(before));
        }
        const write = { agent: { ...before, ...named }, madeIn: before.made_in, expected: seen, call: key };
        const written = await agents.write(run.userId, write);
        if (written.outcome === 'written') seen = written.agent.version;
        if (written.outcome === 'written' || written.outcome === 'repeated')
          return { content: `Agent '${shown.name}' updated: ${Object.keys(named).join(', ')}.` };
      }
      return toFailedOutcome('You are being changed by others at this moment. Try again later.');
    },
  });
}

const dropUndefined = (changes: Changes): Partial<StoredAgent> =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));

const formatConflict = ({ soul, description, skills, tool_groups, model }: StoredAgent): string =>
  'Somebody changed you since this run began, so nothing was written. This is what you are now; call again if your change ' +
  `is still right:\n${JSON.stringify({ soul, description, skills, tool_groups, model })}`;
