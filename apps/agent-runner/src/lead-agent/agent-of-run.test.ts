import { NO_MODEL_SETTINGS, type RunContextValues } from '@caribou/contracts';
import { type AgentStore, type Logger, type ModelCatalog, silentLogger } from '@caribou/core';
import { fakeRun, memoryAgents, scriptedModel } from '@caribou/testing';
import { agentFacts, agentOfRun, agentTools, applyAgentSettings, modelOf } from './agent-of-run.js';

const POET = {
  name: 'poet',
  description: '',
  model: 'm2',
  tool_groups: ['web'],
  skills: ['chart'],
  ...NO_MODEL_SETTINGS,
  soul: 'You rhyme.',
};
const models: ModelCatalog = {
  names: ['m1', 'm2'],
  get: (name = 'm1') => {
    if (!['m1', 'm2'].includes(name)) throw new Error(`unknown model "${name}"`);
    return { ...scriptedModel([]), name };
  },
};

let agents: AgentStore;
beforeEach(async () => {
  agents = memoryAgents();
  await agents.write('default', { agent: POET, madeIn: null, expected: 0 });
  await agents.writeProfile('default', 'I sail.');
});

const runOf = (context: RunContextValues, logger: Logger = silentLogger) => fakeRun({ context, logger });
const of = (context: RunContextValues) => agentOfRun(agents, runOf(context));
const toolNames = async (context: RunContextValues) =>
  agentTools(await of(context), { agents, known: { models: [], toolGroups: [] } }).map(({ name }) => name);

describe(agentOfRun, () => {
  test('a run that names an agent is carried out by it', async () => {
    const run = runOf({ agent_name: 'poet' });
    const agent = await agentOfRun(agents, run);

    expect(agent).toMatchObject({ custom: POET, skillNames: ['chart'], makesAgent: false });
    expect(agent.profile).toBe('I sail.');
    expect(agentFacts(agent, 'poet', [])).toEqual({ agentName: 'poet', soul: 'You rhyme.' });
    expect(await toolNames({ agent_name: 'poet' })).toEqual(['update_agent']);
  });

  test('one that names none, by the lead agent', async () => {
    const agent = await of({});
    expect(agent).toEqual({ custom: null, profile: 'I sail.', makesAgent: false, skillNames: null });
    expect([agentFacts(agent, undefined, []), await toolNames({})]).toEqual([{}, []]);
  });

  test('one that makes an agent, by the lead agent as well, whether that agent is there already or not', async () => {
    for (const name of ['poet', 'cook']) {
      const run = runOf({ agent_name: name, is_bootstrap: true });
      const agent = await agentOfRun(agents, run);
      expect(agent).toMatchObject({ custom: null, makesAgent: true, skillNames: ['bootstrap'] });
      expect(agentFacts(agent, name, [])).toEqual({ bootstrap: { name } });
    }
    expect(await toolNames({ is_bootstrap: true })).toEqual(['setup_agent']);
  });

  test('an agent that is gone, or another person’s, ends the run', async () => {
    await expect(of({ agent_name: 'cook' })).rejects.toThrow('there is no agent "cook"');
    const other = fakeRun({ userId: 'bob', context: { agent_name: 'poet' } });
    await expect(agentOfRun(agents, other)).rejects.toThrow('there is no agent "poet"');
  });
});

describe(modelOf, () => {
  const nameOf = async (context: RunContextValues, logger?: Logger): Promise<string> =>
    modelOf(runOf(context, logger), await of(context), models).name;

  test('the one the run names comes before the agent’s, and that before the default', async () => {
    expect(await nameOf({ agent_name: 'poet', model_name: 'm1' })).toBe('m1');
    expect(await nameOf({ agent_name: 'poet' })).toBe('m2');
    expect(await nameOf({})).toBe('m1');
    await expect(nameOf({ agent_name: 'poet', model_name: 'gone' })).rejects.toThrow('unknown model');
  });

  test('an agent whose model is gone has the default one, and the log says so', async () => {
    await agents.write('default', { agent: { ...POET, name: 'old', model: 'gone' }, madeIn: null, expected: 0 });
    const warn = jest.fn();
    expect(await nameOf({ agent_name: 'old' }, { ...silentLogger, warn })).toBe('m1');
    expect(warn).toHaveBeenCalledTimes(1);
  });
});

describe('the settings of an agent for its model', () => {
  const MODEL = scriptedModel([]);
  const contextOf = async (context: RunContextValues) =>
    applyAgentSettings(runOf(context), await of(context), MODEL).context;

  test('its temperature and length are those of the run, which may have its own', async () => {
    const settings = { temperature: 0.2, max_tokens: 300 };
    const agent = { ...POET, name: 'cool', model_settings: settings };
    await agents.write('default', { agent, madeIn: null, expected: 0 });

    expect(await contextOf({ agent_name: 'cool' })).toMatchObject(settings);
    expect(await contextOf({ agent_name: 'cool', temperature: 0 })).toMatchObject({ ...settings, temperature: 0 });
    const own = { temperature: 1, max_tokens: 50 };
    expect(await contextOf({ agent_name: 'cool', ...own })).toMatchObject(own);
    expect(await contextOf({ agent_name: 'poet' })).toEqual({ agent_name: 'poet', model_name: 'scripted' });
    expect(await contextOf({ agent_name: 'poet', ...own })).toMatchObject(own);
    expect(await contextOf(own)).toEqual(own);
  });

  test('what was chosen for its thinking comes before what the page sends with every run', async () => {
    const agent = { ...POET, name: 'quick', thinking_enabled: false, reasoning_effort: 'low' as const };
    await agents.write('default', { agent, madeIn: null, expected: 0 });
    const sent = { thinking_enabled: true, reasoning_effort: 'high' as const };
    expect(await contextOf({ agent_name: 'quick', ...sent })).toMatchObject({
      thinking_enabled: false,
      reasoning_effort: 'low',
    });
    expect(await contextOf({ agent_name: 'poet', ...sent })).toMatchObject(sent);
    expect(await contextOf(sent)).toEqual(sent);
  });
});
