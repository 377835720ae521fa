export interface PromptFacts {
  /** Names of the tools the model is given; sections about others are left out. */
  readonly toolNames: readonly string[];
  /** Milliseconds since the Unix epoch; the prompt tells the day in UTC. */
  readonly nowMs: number;
  /** Name of a custom agent; written by a user, so it is escaped. */
  readonly agentName?: string;
}

interface Section {
  readonly tag: string;
  readonly text: (facts: PromptFacts) => string | undefined;
}

const sections: readonly Section[] = [
  { tag: 'role', text: role },
  { tag: 'thinking_style', text: thinkingStyle },
  { tag: 'clarification_system', text: clarificationSystem },
  { tag: 'working_directory', text: workingDirectory },
  { tag: 'response_style', text: responseStyle },
  { tag: 'critical_reminders', text: criticalReminders },
  { tag: 'current_date', text: currentDate },
];

/**
 * The system prompt: named sections in a fixed order, only those that apply to the tools there are. What changes from
 * day to day stands last, so that providers can keep the rest in their prefix cache.
 */
export function buildSystemPrompt(facts: PromptFacts): string {
  return sections
    .flatMap(({ tag, text }) => {
      const body = text(facts);
      return body === undefined ? [] : [`<${tag}>\n${body}\n</${tag}>`];
    })
    .join('\n\n');
}

const has = ({ toolNames }: PromptFacts, ...names: readonly string[]): boolean =>
  names.some((name) => toolNames.includes(name));

const hasFiles = (facts: PromptFacts): boolean => has(facts, 'bash', 'ls', 'read_file', 'write_file');

/** Lines that apply, one below the other. */
const lines = (...entries: readonly (string | false)[]): string =>
  entries.filter((entry) => entry !== false).join('\n');

function role({ agentName }: PromptFacts): string {
  const name = agentName === undefined ? 'Caribou' : escapeMarkup(agentName);
  return `You are ${name}, an open-source super agent that carries out tasks from beginning to end.`;
}

function thinkingStyle(facts: PromptFacts): string {
  return lines(
    '- Think briefly before you act: what is clear, what is ambiguous, what is missing?',
    has(facts, 'ask_clarification') && '- If something you need is unclear or missing, ask before you start the work.',
    '- Do not put the final answer into your thinking. After thinking, always give a visible answer.',
  );
}

function clarificationSystem(facts: PromptFacts): string | undefined {
  if (!has(facts, 'ask_clarification')) return undefined;
  return lines(
    'Order of work: clarify, then plan, then act. Call `ask_clarification` before you start the work when one of these holds:',
    '- `missing_info`: something required was not given ("deploy it": where to?).',
    '- `ambiguous_requirement`: the request can be read in several ways ("make it faster": the start or the answers?).',
    '- `approach_choice`: several approaches are valid and the choice matters ("add a login": which kind?).',
    '- `risk_confirmation`: the act is destructive or hard to undo ("clean up the folder": delete these files?).',
    '- `suggestion`: you have a recommendation that needs approval.',
    'The run stops after the call and goes on with the answer. Do not ask what you can find out yourself.',
  );
}

function workingDirectory(facts: PromptFacts): string | undefined {
  if (!hasFiles(facts)) return undefined;
  return lines(
    '- `/mnt/user-data/workspace`: your working directory, for drafts and intermediate files.',
    "- `/mnt/user-data/uploads`: the person's files, named in the message they came with; a document has its text as Markdown (`.md`) beside it.",
    '- `/mnt/user-data/outputs`: finished results for the person.',
    'Files stay between the turns of this conversation. Always use these absolute paths.',
  );
}

function responseStyle(): string {
  return lines(
    '- Be clear and concise. Prefer prose; use lists and headings only where they help.',
    '- Act, then say what you did and what came out, rather than how you would do it.',
  );
}

function criticalReminders(facts: PromptFacts): string {
  return lines(
    has(facts, 'ask_clarification') && '- Clarify first: never begin on an assumption that a question would settle.',
    hasFiles(facts) &&
      (has(facts, 'present_files')
        ? '- Put deliverables into `/mnt/user-data/outputs` and show them with `present_files`.'
        : '- Put deliverables into `/mnt/user-data/outputs` and name their paths in your answer.'),
    facts.toolNames.length > 0 && '- Call tools that do not depend on each other in parallel, in one message.',
    '- Answer in the language of the person.',
    '- Images and Mermaid diagrams are welcome in Markdown.',
    '- Always end with a visible answer.',
  );
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function currentDate({ nowMs }: PromptFacts): string {
  const date = new Date(nowMs);
  return `${date.toISOString().slice(0, 10)}, ${WEEKDAYS[date.getUTCDay()] ?? ''}`;
}

/** Text of a user's making, so that it cannot open or close a section. */
const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
