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
  // From here on the text differs between users and days.
  { tag: 'user_profile', text: userProfile },
  { tag: 'memory', text: memory },
  { tag: 'current_date', text: currentDate },
];

/**
 * The system prompt: named sections in a fixed order, only those that apply. The same switches give the same text, and
 * what changes with the person and the day stands last, so that providers can keep the rest in their prefix cache. Texts
 * that users wrote are escaped: they cannot open or close a section.
 */
export function buildSystemPrompt(facts: PromptFacts): string {
  return sections
    .flatMap(({ tag, text }) => {
      const body = text(facts);
      return body === undefined ? [] : [`<${tag}>\n${body}\n</${tag}>`];
    })
    .join('\n\n');
}
