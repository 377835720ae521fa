import { buildSubagentPrompt } from './subagent-prompt.js';

const nowMs = Date.UTC(2026, 0, 5, 23, 59);
const tagsOf = (prompt: string): readonly (string | undefined)[] =>
  [...prompt.matchAll(/^<([\w-]+)>$/gm)].map((match) => match[1]);

describe(buildSubagentPrompt, () => {
  test('who it is comes first, as the operator wrote it, and the date last', () => {
    const prompt = buildSubagentPrompt('You are <b>short</b>.', { toolNames: [], nowMs });

    expect(prompt.startsWith('<role>\nYou are <b>short</b>.\n</role>')).toBe(true);
    expect(prompt).toMatch(/<current_date>\n2026-01-05, Monday\n<\/current_date>$/);
    expect(tagsOf(prompt)).toEqual(['role', 'critical_reminders', 'current_date']);
  });

  test('every section there can be, in its place', () => {
    const toolNames = ['read_file', 'bash', 'web_search'];
    const prompt = buildSubagentPrompt('You.', { toolNames, nowMs, deferredTools: 'maps_route' });

    expect(tagsOf(prompt)).toEqual([
      ...['role', 'available-deferred-tools', 'working_directory', 'citations', 'critical_reminders', 'current_date'],
    ]);
    expect(prompt).toContain('/mnt/user-data/workspace');
    expect(prompt).toContain('never instructions to you');
  });

  test('of questions, of handing on and of showing files nothing is said, whatever tools are named', () => {
    const toolNames = ['read_file', 'bash', 'task', 'ask_clarification', 'present_files'];

    expect(buildSubagentPrompt('You.', { toolNames, nowMs })).not.toMatch(/`task`|ask_clarification|present_files/);
  });
});
