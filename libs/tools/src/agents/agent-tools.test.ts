import { NO_MODEL_SETTINGS } from '@caribou/contracts';
import type { AgentStore, AnyTool, StoredAgent } from '@caribou/core';
import { BUILT_IN_GROUPS } from '@caribou/config';
import { fakeRun, fakeSandbox, memoryAgents } from '@caribou/testing';
import { setupAgentTool } from './setup-agent.js';
import { leadTools } from '../toolset.js';
import { updateAgentTool } from './update-agent.js';

const SOUL = { soul: 'You rhyme.', description: 'rhymes' };
let agents: AgentStore;
beforeEach(() => {
  agents = memoryAgents();
});

const invoke = (tool: AnyTool, args: object, { thread = 't1', key = 'r1:c1', name = 'poet' } = {}) =>
  tool.invoke(
    { ...args },
    {
      run: fakeRun({ threadId: thread, context: { is_bootstrap: true, ...(name === '' ? {} : { agent_name: name }) } }),
      toolCallId: 'c1',
      key,
      state: { messages: [] },
    },
  );
const setup = (args: object, more = {}) => invoke(setupAgentTool(agents), args, more);
const poet = () => agents.read('default', 'poet');

describe(setupAgentTool, () => {
  test('makes the agent of the run and says so in the state', async () => {
    expect(await setup({ ...SOUL, soul: '  You rhyme.\n' })).toEqual({
      content: "Agent 'poet' created successfully!",
      update: { created_agent_name: 'poet' },
    });
    expect(await poet()).toMatchObject({ ...SOUL, model: null, tool_groups: null, skills: null, made_in: 't1' });
  });

  test('the same call of a takeover writes nothing, whatever was written since', async () => {
    await setup(SOUL);
    const { version = 0 } = (await poet()) ?? {};
    const edited = {
      ...SOUL,
      name: 'poet',
      soul: 'Edited.',
      model: null,
      tool_groups: null,
      skills: null,
      ...NO_MODEL_SETTINGS,
    };
    await agents.write('default', { agent: edited, madeIn: 't1', expected: version });

    expect(await setup(SOUL)).toMatchObject({ update: { created_agent_name: 'poet' } });
    expect((await poet())?.soul).toBe('Edited.');
  });

  test('the same call of a takeover does not bring back what was deleted since; another one makes it', async () => {
    await setup(SOUL);
    await agents.remove('default', 'poet');

    expect(await setup(SOUL)).toMatchObject({ isError: true, content: expect.stringMatching(/stays deleted/) });
    expect(await poet()).toBeNull();
    expect(await setup(SOUL, { key: 'r2:c1' })).not.toHaveProperty('isError');
  });

  test('its conversation may replace it, keeping its other settings; another one may not', async () => {
    await setup(SOUL);
    expect(await setup({ ...SOUL, soul: 'B' }, { key: 'r2:c1' })).not.toHaveProperty('isError');
    const refused = await setup({ ...SOUL, soul: 'C' }, { thread: 't2', key: 'r3:c1' });

    expect(refused).toMatchObject({ isError: true, content: expect.stringContaining("an agent named 'poet' already") });
    expect(refused.update).toBeUndefined();
    expect((await poet())?.soul).toBe('B');
  });

  test('of two conversations at once one gets the name', async () => {
    const both = await Promise.all([setup(SOUL), setup({ ...SOUL, soul: 'B' }, { thread: 't2', key: 'r2:c1' })]);
    expect(both.filter(({ isError }) => isError === true)).toHaveLength(1);
  });

  test('without a name, a soul or a description nothing is made', async () => {
    expect(await setup(SOUL, { name: '' })).toMatchObject({
      isError: true,
      content: expect.stringMatching(/no name yet/),
    });
    for (const args of [{ soul: ' ', description: 'x' }, { soul: 'x' }, { ...SOUL, soul: 'x'.repeat(32_001) }])
      expect(await setup(args)).toMatchObject({ isError: true });
    expect(await agents.list('default')).toEqual([]);
  });

  test('a user with too many agents gets an error', async () => {
    const full = { ...agents, write: () => Promise.resolve({ outcome: 'full' as const }) };
    expect(await invoke(setupAgentTool(full), SOUL)).toMatchObject({
      isError: true,
      content: expect.stringMatching(/100 agents already/),
    });
  });
});

describe(updateAgentTool, () => {
  const known = { models: ['m1'], toolGroups: ['web'] };
  let shown: StoredAgent;
  let tool: AnyTool;
  beforeEach(async () => {
    await setup(SOUL);
    const made = await poet();
    if (made === null) throw new Error('not made');
    shown = made;
    tool = updateAgentTool({ agents, known, shown });
  });
  const update = (args: object, key = 'r2:c1') => invoke(tool, args, { key });

  test('changes what is named and leaves the rest', async () => {
    expect(await update({ model: 'm1', skills: [] })).toEqual({ content: "Agent 'poet' updated: skills, model." });
    expect(await poet()).toMatchObject({ ...SOUL, model: 'm1', skills: [], made_in: 't1' });
    expect(await update({ model: null, soul: 'B' }, 'r2:c2')).not.toHaveProperty('isError');
    expect(await poet()).toMatchObject({ soul: 'B', description: 'rhymes', model: null, skills: [] });
  });

  test('several calls of one answer all hold', async () => {
    const changes = [{ soul: 'B' }, { description: 'C' }, { model: 'm1' }, { tool_groups: ['web'] }];
    const outcomes = await Promise.all(changes.map((change, at) => update(change, `r2:c${at}`)));

    expect(outcomes.filter(({ isError }) => isError)).toEqual([]);
    expect(await poet()).toMatchObject({ soul: 'B', description: 'C', model: 'm1', tool_groups: ['web'] });
  });

  test('the same call of a takeover is not made again over what came after it', async () => {
    await update({ soul: 'B' });
    const { version = 0, ...now } = (await poet()) ?? shown;
    await agents.write('default', { agent: { ...now, soul: 'Edited.' }, madeIn: 't1', expected: version });
    const again = updateAgentTool({ agents, known, shown: (await poet()) ?? shown });

    expect(await invoke(again, { soul: 'B' }, { key: 'r2:c1' })).not.toHaveProperty('isError');
    expect((await poet())?.soul).toBe('Edited.');
  });

  test('changes by others are reported before they can be replaced', async () => {
    await agents.write('default', { agent: { ...shown, soul: 'Edited.' }, madeIn: 't1', expected: shown.version });
    expect(await update({ soul: 'B' })).toMatchObject({ isError: true, content: expect.stringContaining('Edited.') });
    expect((await poet())?.soul).toBe('Edited.');
    expect(await update({ soul: 'B' }, 'r2:c2')).not.toHaveProperty('isError');
    await agents.remove('default', 'poet');
    expect(await update({ soul: 'C' }, 'r2:c3')).toMatchObject({ isError: true });
    expect(await poet()).toBeNull();
  });

  test('a missing value, or no change at all, is refused with its field', async () => {
    for (const [args, fault] of [
      [{ model: 'gone' }, /^Error: model: there is no model "gone"; models: m1$/],
      [{ tool_groups: ['x'] }, /^Error: tool_groups: there is no group "x"/],
      [{ skills: ['Bad Name'] }, /skills\.0: must be/],
      [{}, /at least one thing/],
    ] as const)
      expect(await update(args)).toMatchObject({ isError: true, content: expect.stringMatching(fault) });
    expect(await poet()).toEqual(shown);
  });
});

test('every group of a built-in tool may be named by an agent', () => {
  const groups = leadTools({ sandbox: fakeSandbox() }).flatMap(({ group }) => (group === undefined ? [] : [group]));
  expect(groups.filter((group) => !BUILT_IN_GROUPS.includes(group))).toEqual([]);
});
