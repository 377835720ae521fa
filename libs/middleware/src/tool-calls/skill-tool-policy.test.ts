import { runAgent } from '@caribou/agent';
import { textOf, type ThreadState } from '@caribou/contracts';
import { activeSkill, applyUpdate, defineTool, type Skill } from '@caribou/core';
import { fakeHost, fakeRun, fakeSandbox, humanMessage, scriptedModel } from '@caribou/testing';
import { leadTools } from '@caribou/tools';
import { z } from 'zod';
import { leadChain } from '../chain/chain.js';
import { skillToolPolicy } from './skill-tool-policy.js';

const tool = (name: string) =>
  defineTool({ name, description: name, input: z.object({}), run: () => Promise.resolve({ content: 'ran' }) });
const run = fakeRun();
const policy = skillToolPolicy();

const stateWith = (allowed: readonly string[] | null | undefined): ThreadState =>
  applyUpdate(
    { messages: [] },
    allowed === undefined
      ? {}
      : activeSkill.write({ name: 'chart', allowed_tools: allowed === null ? null : [...allowed] }, run),
  );

async function called(state: ThreadState, name: string): Promise<string> {
  const call = { type: 'tool_call', id: 'c1', name, args: {} } as const;
  const next = () => Promise.resolve({ content: 'ran' });
  const outcome = await policy.wrapToolCall?.({ call, tool: tool(name), state }, next, run);
  return `${outcome?.isError === true ? 'error: ' : ''}${textOf(outcome?.content ?? '')}`;
}

describe(skillToolPolicy, () => {
  test('without a skill, or with one that names no tools, all can be called', async () => {
    for (const state of [stateWith(undefined), stateWith(null)]) {
      expect(await called(state, 'task')).toBe('ran');
    }
  });

  test('with a skill those it allows itself can be called, and the search for tools', async () => {
    const state = stateWith(['bash']);
    expect([await called(state, 'bash'), await called(state, 'tool_search')]).toEqual(['ran', 'ran']);
    for (const name of ['read_file', 'task', 'unheard_of'])
      expect(await called(state, name)).toBe(
        `error: Error: Tool '${name}' was not called: the skill 'chart', which you were asked to follow, does not allow it.`,
      );
    expect(await called(stateWith([]), 'bash')).toContain('does not allow it');
  });

  test('a run is shown all tools and keeps to the skill its message asks for; the next one does not', async () => {
    const location = '/mnt/skills/public/chart/SKILL.md';
    const sandbox = fakeSandbox();
    await sandbox.write(
      { userId: 'default', threadId: 't', epoch: 1 },
      { key: 'k', path: location, content: '---\nname: chart\ndescription: x\n---\nDraw.', append: false },
      run.signal,
    );
    const skill: Skill = {
      name: 'chart',
      description: 'x',
      license: null,
      category: 'public',
      location,
      editable: false,
      enabled: true,
      allowedTools: ['read_file'],
    };
    const toolsOf: (readonly string[])[] = [];
    const take = async (state: ThreadState, runId: string): Promise<ThreadState> => {
      const calls = [{ name: 'bash', args: { command: 'echo hi', description: 'd' } }];
      const said = state.messages.filter(({ type }) => type === 'ai').length;
      const model = scriptedModel([...Array.from({ length: said }, () => ({})), { calls }, { content: 'Done.' }]);
      const outcome = await runAgent({
        chain: leadChain({ sandbox, model }, { skills: [skill] }),
        tools: leadTools({ sandbox }),
        model,
        systemPrompt: '',
        options: { maxTurns: 5 },
        host: fakeHost({ state }),
        run: fakeRun({ runId }),
        state,
        step: 0,
        position: 'start',
      });
      toolsOf.push(...model.calls.map(({ tools }) => tools.map(({ name }) => name)));
      if (outcome.kind !== 'finished') throw new Error(outcome.kind);
      return outcome.last.state;
    };
    const results = ({ messages }: ThreadState) =>
      messages.flatMap((message) => (message.type === 'tool' ? [textOf(message.content)] : []));

    const first = await take({ messages: [humanMessage('/chart now')] }, '11111111-1111-4111-8111-111111111111');
    expect(toolsOf.at(-1)).toContain('bash');
    expect(results(first)).toEqual([expect.stringMatching(/the skill 'chart'.*does not allow it/)]);
    expect(sandbox.executed).toEqual([]);
    const next = applyUpdate(first, { messages: [humanMessage('and now?')] });
    await take(next, '22222222-2222-4222-8222-222222222222');
    expect(sandbox.executed).toEqual(['echo hi']);
  });
});
