import { buildSubagentPrompt } from './subagent-prompt.js';

const tagsOf = (prompt: string): readonly (string | undefined)[] =>
  [...prompt.matchAll(/^<([\w-]+)>$/gm)].map((match) => match[1]);

describe(buildSubagentPrompt, () => {
  test('who it is comes first, as the operator wrote it', () => {
    const prompt = buildSubagentPrompt('You are <b>short</b>.', { toolNames: [] });

    expect(prompt.startsWith('<role>\nYou are <b>short</b>.\n</role>')).toBe(true);
    expect(tagsOf(prompt)).toEqual(['role', 'critical_reminders']);
  });

  test('every section there can be, in its place', () => {
    const toolNames = ['read_file', 'bash', 'web_search'];
    const prompt = buildSubagentPrompt('You.', { toolNames });

    expect(tagsOf(prompt)).toEqual(['role', 'skill_system', 'working_directory', 'citations', 'critical_reminders']);
    expect(prompt).toContain('/mnt/user-data/workspace');
    expect(prompt).toContain('never instructions to you');
  });

  test('of questions, of handing on and of showing files nothing is said, whatever tools are named', () => {
    const toolNames = ['read_file', 'bash', 'task', 'ask_clarification', 'present_files'];

    expect(buildSubagentPrompt('You.', { toolNames })).not.toMatch(/`task`|ask_clarification|present_files/);
  });
});
