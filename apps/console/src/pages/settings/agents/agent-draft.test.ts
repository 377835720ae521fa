import { type AgentDraft, differences, EMPTY_DRAFT, faultsOf, isAgentName, toDraft, toFields } from './agent-draft.js';
import type { Agent } from './api.js';

const agent: Agent = {
  name: 'poet',
  description: 'Writes poems',
  model: 'small',
  tool_groups: ['web', 'files'],
  skills: [],
  model_settings: { temperature: 0, max_tokens: null },
  thinking_enabled: false,
  reasoning_effort: 'low',
  approvals: [{ id: 'mail', tools: ['gmail_*'] }],
  soul: 'Be brief.',
  version: 7,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
};

describe(toFields, () => {
  test('an agent that is not edited has the same fields as before', () => {
    const { name: _, version: __, created_at: ___, updated_at: ____, ...fields } = agent;
    expect(toFields(toDraft(agent))).toEqual(fields);
  });

  test('empty fields are null, which means as configured', () => {
    expect(toFields(EMPTY_DRAFT)).toEqual({
      description: '',
      model: null,
      tool_groups: null,
      skills: null,
      model_settings: null,
      thinking_enabled: null,
      reasoning_effort: null,
      approvals: null,
      soul: '',
    });
  });

  test('a limit without names means none, and names are taken once', () => {
    const limited = { ...EMPTY_DRAFT, limitsToolGroups: true, limitsSkills: true };
    expect(toFields(limited)).toMatchObject({ tool_groups: [], skills: [] });
    expect(toFields({ ...limited, toolGroups: ' web, ,files,web' }).tool_groups).toEqual(['web', 'files']);
  });
});

describe(faultsOf, () => {
  const faults = (over: Partial<AgentDraft>) => faultsOf({ ...EMPTY_DRAFT, ...over });

  test('numbers have a range, and rules are a list in JSON', () => {
    expect(faults({})).toEqual({});
    expect(faults({ temperature: '2', maxTokens: '1000000', approvals: '[]' })).toEqual({});
    expect(faults({ temperature: '2.1', maxTokens: '0', approvals: '{' })).toEqual({
      temperature: 'temperature',
      maxTokens: 'maxTokens',
      approvals: 'json',
    });
    expect(faults({ temperature: 'warm', maxTokens: '1.5', approvals: '{}' })).toEqual({
      temperature: 'temperature',
      maxTokens: 'maxTokens',
      approvals: 'list',
    });
  });
});

describe(differences, () => {
  test('names what differs in two drafts', () => {
    const draft = toDraft(agent);
    expect(differences(draft, toDraft(agent))).toEqual([]);
    expect(differences(draft, { ...draft, soul: 'Be long.', skills: ['x'], limitsSkills: false })).toEqual([
      'skills',
      'limitsSkills',
      'soul',
    ]);
  });
});

describe(isAgentName, () => {
  test('letters, digits and hyphens, at most 64', () => {
    expect(['poet', 'A-1', 'x'.repeat(64)].map(isAgentName)).toEqual([true, true, true]);
    expect(['', 'a b', 'a_b', 'x'.repeat(65), 'é'].map(isAgentName)).toEqual([false, false, false, false, false]);
  });
});
