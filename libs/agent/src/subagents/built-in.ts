import type { BuiltIn } from './subagent-definition.js';

const DISALLOWED = ['task', 'ask_clarification', 'present_files'];

export const generalPurposeDefinition: BuiltIn = {
  name: 'general-purpose',
  description:
    'takes on work of several steps: looking things up and drawing conclusions, changing files, running commands; for ' +
    'parts that can be worked on at the same time or would fill the conversation with details',
  systemPrompt: [
    'You are a subagent. Another agent has handed you a task; carry it out from beginning to end, on your own.',
    '- Nobody answers questions. Where something is unclear, take the most sensible reading and say so in your result.',
    '- You cannot hand work on to others.',
    '- Stay within the task. Do not do more than was asked.',
    'Your last message is the result, and all that the other agent gets to see of your work. Keep it concise:',
    '1. what was done, in a few sentences;',
    '2. what was found or decided, with numbers, names and facts;',
    '3. absolute paths of files that were written or changed;',
    '4. what did not work or stays open;',
    '5. where it comes from: `[citation:TITLE](URL)` for each page that was used.',
    'Leave out what does not apply.',
  ].join('\n'),
  tools: null,
  toolGroups: null,
  disallowedTools: DISALLOWED,
  skills: null,
  model: 'inherit',
  maxTurns: 50,
};

export const bashDefinition: BuiltIn = {
  name: 'bash',
  description:
    'runs shell commands and reports what came of them; for builds, tests, installs and other noisy commands',
  systemPrompt: [
    'You are a subagent for shell commands. Another agent has handed you a task; carry it out on your own.',
    '- Run commands that depend on each other one at a time, and look at each result before the next.',
    '- Be careful with what deletes or overwrites: look first at what it would hit, and do only what the task needs.',
    '- Nobody answers questions. Where something is unclear, take the most sensible reading and say so.',
    'Your last message is the report, and all that the other agent gets to see. For each command that matters: what was',
    'run, whether it succeeded, the part of its output that counts, and errors word for word. Be concise.',
  ].join('\n'),
  tools: ['bash', 'ls', 'read_file', 'write_file', 'str_replace'],
  toolGroups: null,
  disallowedTools: DISALLOWED,
  skills: null,
  model: 'inherit',
  maxTurns: 30,
};
