import { loadConfig } from '@caribou/config';
import type { Skill } from '@caribou/core';
import { fakeRun, fakeSandbox, scriptedModel } from '@caribou/testing';
import { agentSetups, type SetupFacts, type SetupPorts } from './agent-setup.js';
import type { ReadsOfRuns, RunReads } from './run-reads.js';

const model = scriptedModel([]);
const POET = {
  ...{ name: 'poet', description: '', model: null, skills: null, tool_groups: null, soul: 'You rhyme.' },
  ...{ thinking_enabled: null, reasoning_effort: null, model_settings: null, approvals: [] },
};
const SKILL: Skill = {
  ...{ name: 'chart', description: 'Draws charts.', license: null, enabled: true, allowedTools: null },
  ...{ category: 'public' as const, location: '/mnt/skills/public/chart/SKILL.md', editable: false },
};
const TOOL = { name: 'read_file' } as SetupFacts['offered'][number];
const FACTS: SetupFacts = {
  agent: { custom: null, profile: '', makesAgent: false, skillNames: null },
  agentName: undefined,
  model,
  switches: {
    ...{ vision: false, planMode: false, subagents: false, clarification: true },
    ...{ maxConcurrentSubagents: 3, maxTotalSubagents: 10 },
  },
  offered: [TOOL],
  skills: [SKILL],
  isTemporary: false,
  isScheduled: false,
};

let profiles: Map<AbortSignal, string>;

const readsOf: ReadsOfRuns['of'] = ({ signal }) => {
  const reads: Pick<RunReads, 'agent' | 'memory'> = {
    agent: Promise.resolve({ ...FACTS.agent, profile: profiles.get(signal) ?? '' }),
    memory: () => Promise.resolve(`memory of ${profiles.get(signal)}`),
  };
  return reads as RunReads;
};

function createSetups() {
  const ports: Partial<SetupPorts> = {
    ...{ sandbox: fakeSandbox(), custom: [], reads: { of: readsOf } },
    subagents: { types: [] } as unknown as SetupPorts['subagents'],
    agentTools: { agents: {} as SetupPorts['agentTools']['agents'], known: { models: [], toolGroups: [] } },
  };
  return agentSetups(ports as SetupPorts, loadConfig({}, '/nonexistent'));
}

beforeEach(() => {
  profiles = new Map();
});

describe(agentSetups, () => {
  test('runs with the same facts share one setup, whatever objects the facts came in', () => {
    const setupFor = createSetups();
    const again = { ...FACTS, agent: { ...FACTS.agent }, switches: { ...FACTS.switches }, offered: [TOOL] };
    expect(setupFor(again)).toBe(setupFor(FACTS));
  });

  test.each<[string, Partial<SetupFacts>]>([
    ['another model', { model: scriptedModel([]) }],
    ['other tools', { offered: [TOOL, { ...TOOL, name: 'ls' }] }],
    ['skills of another user', { skills: [SKILL] }],
    ['plan mode', { switches: { ...FACTS.switches, planMode: true } }],
    ['vision', { switches: { ...FACTS.switches, vision: true } }],
    ['no questions to the user', { switches: { ...FACTS.switches, clarification: false } }],
    ['other limits of subagents', { switches: { ...FACTS.switches, maxTotalSubagents: 11 } }],
    ['a custom agent', { agent: { ...FACTS.agent, custom: POET as unknown as SetupFacts['agent']['custom'] } }],
    [
      'a conversation that creates an agent',
      { agent: { ...FACTS.agent, makesAgent: true, skillNames: ['bootstrap'] } },
    ],
    ['the name of an agent', { agentName: 'poet' }],
    ['a thread for one run', { isTemporary: true }],
  ])('%s has a setup of its own', (_, change) => {
    const setupFor = createSetups();
    expect(setupFor({ ...FACTS, ...change })).not.toBe(setupFor(FACTS));
  });

  test('runs that share a setup are shown their own profile and memory', async () => {
    const { chain } = createSetups()(FACTS);
    const hook = chain.find(({ name }) => name === 'thread-context');
    const shownTo = async (name: string) => {
      const { signal } = new AbortController();
      profiles.set(signal, name);
      const step = await hook?.beforeAgent?.({ messages: [] }, { ...fakeRun(), signal });
      return step?.update?.thread_context?.shown;
    };
    const [alice, bob] = await Promise.all([shownTo('Alice'), shownTo('Bob')]);
    expect(alice).toMatchObject({ user_profile: 'Alice', memory: 'memory of Alice' });
    expect(bob).toMatchObject({ user_profile: 'Bob', memory: 'memory of Bob' });
    expect(alice?.['available_skills']).toContain('Draws charts.');
  });
});
