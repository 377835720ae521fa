import { memoizeRecent } from '@caribou/core';
import { citations, criticalReminders, responseStyle, workingDirectory } from './conduct-sections.js';
import type { PromptFacts } from './prompt-facts.js';
import {
  agentBootstrap,
  clarificationSystem,
  planning,
  role,
  skillSystem,
  soul,
  subagentSystem,
  thinkingStyle,
} from './task-sections.js';

interface Section {
  readonly tag: string;
  readonly text: (facts: PromptFacts) => string | undefined;
}

const sections: readonly Section[] = [
  { tag: 'role', text: role },
  { tag: 'soul', text: soul },
  { tag: 'agent_bootstrap', text: agentBootstrap },
  { tag: 'thinking_style', text: thinkingStyle },
  { tag: 'clarification_system', text: clarificationSystem },
  { tag: 'todo_list_system', text: planning },
  { tag: 'skill_system', text: skillSystem },
  { tag: 'subagent_system', text: subagentSystem },
  { tag: 'working_directory', text: workingDirectory },
  { tag: 'response_style', text: responseStyle },
  { tag: 'citations', text: citations },
  { tag: 'critical_reminders', text: criticalReminders },
];

/**
 * Generates the system prompt: named sections in a fixed order, of which only those that apply are present. The same
 * switches of the same agent give the same text for every user, day and memory, so that providers can cache it. Texts of
 * users are escaped, so that they cannot open or close a section.
 */
export const buildSystemPrompt = (facts: PromptFacts): string => promptOf(JSON.stringify(facts));

/** Most runs of a process have one of few prompts, which then are the same string. */
const promptOf = memoizeRecent((json) => writePrompt(JSON.parse(json) as PromptFacts));

const writePrompt = (facts: PromptFacts): string =>
  sections
    .flatMap(({ tag, text }) => {
      const body = text(facts);
      return body === undefined ? [] : [`<${tag}>\n${body}\n</${tag}>`];
    })
    .join('\n\n');
