import { agentOfAssistant } from '@caribou/contracts';
import { findAgentFault, skillsOfAgent } from './agent-rules.js';
import type { Skill } from '../ports/skill-catalog.js';

const known = { models: ['m1', 'm2'], toolGroups: ['web', 'bash'] };

describe(findAgentFault, () => {
  test('names the field and what there is', () => {
    expect(findAgentFault({ model: 'gone' }, known)).toBe('model: there is no model "gone"; models: m1, m2');
    expect(findAgentFault({ tool_groups: ['web', 'x'] }, { ...known, toolGroups: [] })).toBe(
      'tool_groups: there is no group "web"; groups: none',
    );
  });

  test('finds none in what is there, or is not said', () => {
    for (const agent of [{}, { model: null, tool_groups: null }, { model: 'm2', tool_groups: ['bash'] }])
      expect(findAgentFault(agent, known)).toBeUndefined();
  });
});

describe(skillsOfAgent, () => {
  const skills = ['bootstrap', 'chart', 'write'].map((name) => ({ name }) as Skill);
  const namesOf = (names: readonly string[] | null) => skillsOfAgent(skills, names).map(({ name }) => name);

  test('all but the one about agents, or those that are named', () => {
    expect([namesOf(null), namesOf(['write', 'gone']), namesOf([])]).toEqual([['chart', 'write'], ['write'], []]);
    expect(namesOf(['bootstrap'])).toEqual(['bootstrap']);
  });
});

describe(agentOfAssistant, () => {
  test.each([
    ['Poet', 'poet'],
    ['my_Agent-2', 'my-agent-2'],
    ['lead_agent', undefined],
    ['a b', undefined],
    ['', undefined],
    ['x'.repeat(65), undefined],
  ])('%s stands for %s', (assistantId, name) => expect(agentOfAssistant(assistantId)).toBe(name));
});
