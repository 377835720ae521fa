import {
  citations,
  criticalReminders,
  currentDate,
  memory,
  responseStyle,
  userProfile,
  workingDirectory,
} from './conduct-sections.js';
import type { PromptFacts } from './prompt-facts.js';
import {
  agentBootstrap,
  clarificationSystem,
  deferredTools,
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
  { tag: 'available-deferred-tools', text: deferredTools },
  { tag: 'working_directory', text: workingDirectory },
  { tag: 'response_style', text: responseStyle },
  { tag: 'citations', text: citations },
  { tag: 'critical_reminders', text: criticalReminders },
  // The text below differs between users and days.
  { tag: 'user_profile', text: userProfile },
  { tag: 'memory', text: memory },
  { tag: 'current_date', text: currentDate },
];

/**
 * Generates the system prompt: named sections in a fixed order, of which only those that apply are present. The same
 * switches give the same text. The parts that depend on the user and the day are last, so that providers can cache the
 * text before them. Texts of users are escaped, so that they cannot open or close a section.
 */
export function buildSystemPrompt(facts: PromptFacts): string {
  return sections
    .flatMap(({ tag, text }) => {
      const body = text(facts);
      return body === undefined ? [] : [`<${tag}>\n${body}\n</${tag}>`];
    })
    .join('\n\n');
}
