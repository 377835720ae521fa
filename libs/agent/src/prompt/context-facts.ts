import { defuseFrameworkTags, escapeMarkup, memoize } from '@caribou/core';
import type { ContextFacts } from '@caribou/middleware';
import { has } from './prompt-facts.js';

export interface SkillFact {
  readonly name: string;
  readonly description: string;
  /** Virtual path of its SKILL.md. */
  readonly location: string;
}

/** What is true when a run starts, and may differ when the next run of its thread does. */
export interface RunFacts {
  readonly toolNames: readonly string[];
  /** Milliseconds since the Unix epoch; the day is shown in UTC. */
  readonly nowMs: number;
  /** Skills that are enabled; their texts are written by users. */
  readonly skills: readonly SkillFact[];
  /** Names of the tools that must be looked up before use, escaped, one in a line. */
  readonly deferredTools?: string | undefined;
  /** The profile that the user wrote for all agents; absent for subagents. */
  readonly profile?: string;
  /** The memory of the user, as lines with escaped text; undefined when it could not be read. */
  readonly memory?: string | undefined;
}

/** Generates the sections that the thread's messages show, as opposed to the system prompt. */
export const contextFacts = (facts: RunFacts): ContextFacts => ({
  available_skills: has(facts, 'read_file') ? listSkills(facts.skills) : '',
  'available-deferred-tools': facts.deferredTools ?? '',
  user_profile: defuseFrameworkTags((facts.profile ?? '').trim()),
  ...(facts.memory === undefined ? {} : { memory: facts.memory }),
  current_date: formatDate(facts.nowMs),
});

/** Maximum number of skills that are listed; the agent finds the others with its tools. */
const MAX_SKILLS = 100;

const listSkills = memoize((skills: readonly SkillFact[]): string => {
  const shown = skills
    .slice(0, MAX_SKILLS)
    .map(
      ({ name, description, location }) =>
        `- ${escapeMarkup(name)}: ${escapeMarkup(description)} (${escapeMarkup(location)})`,
    );
  const more = skills.length - shown.length;
  return [...shown, ...(more > 0 ? [`(and ${more} more: look under /mnt/skills)`] : [])].join('\n');
});

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function formatDate(nowMs: number): string {
  const date = new Date(nowMs);
  return `${date.toISOString().slice(0, 10)}, ${WEEKDAYS[date.getUTCDay()] ?? ''}`;
}
