import { runAgent } from '@caribou/agent';
import { type StateUpdate, textOf, type ThreadState } from '@caribou/contracts';
import { type AnyTool, applyUpdate, type Deferral, defineTool, type ModelRequest } from '@caribou/core';
import { fakeHost, fakeRun, humanMessage, type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import { z } from 'zod';
import { deferredToolFilter } from './deferred-tool-filter.js';

const called: string[] = [];
const tool = (name: string, deferred?: Deferral): AnyTool =>
  defineTool({
    name,
    description: `does ${name}`,
    input: z.object({ q: z.string().optional() }),
    ...(deferred === undefined ? {} : { deferred }),
    run: () => (called.push(name), Promise.resolve({ content: `${name} ran` })),
  });
const MAIL = tool('mail', { keywords: ['letter'] });
const tools = [tool('ls'), MAIL, tool('maps', {})];
const thread = (...words: readonly string[]): ThreadState => ({ messages: words.map((word) => humanMessage(word)) });

/**
 * A run of the agent with these tools; the messages and tools of each model call, and the resulting state of the
 * thread.
 */
async function played(
  script: readonly ScriptedAnswer[],
  state = thread('hi'),
  position: 'start' | 'model_request' = 'start',
) {
  const host = fakeHost({ state });
  const model = scriptedModel(script);
  const chain = [deferredToolFilter({ tools })];
  const run = fakeRun();
  const options = { maxTurns: 10 };
  const outcome = await runAgent({
    chain,
    tools,
    model,
    systemPrompt: '',
    options,
    host,
    run,
    state,
    step: 0,
    position,
  });
  if (outcome.kind === 'yielded') throw new Error('yielded');
  const shown = model.calls.map((call) => call.tools.map(({ name }) => name));
  return { shown, host, last: outcome.last.state, decisions: run.decisions };
}

const results = ({ messages }: ThreadState) => messages.flatMap((message) => (message.type === 'tool' ? message : []));
const calls = (name: string, args = {}) => ({ calls: [{ name, args }] });

describe(deferredToolFilter, () => {
  beforeEach(() => called.splice(0));

  test('a hidden tool is in no request and is not executed until it was looked up', async () => {
    const { shown, last } = await played([
      calls('mail'),
      calls('tool_search', { query: 'select:mail' }),
      calls('mail'),
      { content: 'done' },
    ]);

    expect(shown).toEqual([
      ['ls', 'tool_search'],
      ['ls', 'tool_search'],
      ['ls', 'mail', 'tool_search'],
      ['ls', 'mail', 'tool_search'],
    ]);
    expect(results(last).map(({ status }) => status)).toEqual(['error', 'success', 'success']);
    expect(results(last)[0]?.content).toMatch(
      /'mail' is deferred .*Call tool_search first, with the query "select:mail"/,
    );
    expect(called).toEqual(['mail']);
  });

  test('the answer of a search is a list of schemas, and what was found is promoted', async () => {
    const { last } = await played([calls('tool_search', { query: 'does m' })]);

    expect(JSON.parse(textOf(results(last)[0]?.content ?? ''))).toEqual(
      ['mail', 'maps'].map((name) => ({ name, description: `does ${name}`, parameters: MAIL.parameters })),
    );
    expect(last.promoted).toEqual({ catalog_hash: expect.stringMatching(/^[0-9a-f]{16}$/), names: ['mail', 'maps'] });
  });

  test('a search that finds nothing says so and promotes nothing', async () => {
    const { last } = await played([calls('tool_search', { query: 'teleport' })]);

    expect(results(last)[0]?.content).toBe('No tools found matching: teleport');
    expect(last.promoted).toBeUndefined();
  });

  test('a call in the same answer as the search that finds its tool is still refused', async () => {
    const both = [{ name: 'tool_search', args: { query: 'select:mail' } }, { name: 'mail' }];

    expect(results((await played([{ calls: both }])).last).map(({ status }) => status)).toEqual(['success', 'error']);
    expect(called).toEqual([]);
  });

  test('what was promoted lasts over a takeover and for the next run', async () => {
    const { host } = await played([calls('tool_search', { query: 'select:maps' })]);
    const taken = await played([{}, { content: 'done' }], host.head.state, 'model_request');
    const next = await played([], { ...taken.last, messages: thread('more').messages });

    expect(taken.shown).toEqual([['ls', 'maps', 'tool_search']]);
    expect(next.shown).toEqual([['ls', 'maps', 'tool_search']]);
  });

  test("keywords in the user's last message reveal a tool without a search, once", async () => {
    const { shown, last, decisions } = await played([calls('ls')], thread('send a letter'));

    expect(shown).toEqual([
      ['ls', 'mail', 'tool_search'],
      ['ls', 'mail', 'tool_search'],
    ]);
    expect(last.promoted?.names).toEqual(['mail']);
    expect(decisions).toEqual(['deferred-tool-filter: promoted']);
    expect((await played([], thread('send a letter', 'or not'))).shown).toEqual([['ls', 'tool_search']]);
  });

  test('no more tools are shown unasked than allowed, however often the model is called', async () => {
    const many = Array.from({ length: 6 }, (_, index) => tool(`t${index}`, { keywords: ['all'], priority: index }));
    const layer = deferredToolFilter({ tools: many, autoPromoteTopK: 2 });
    let state = thread('show all');
    const passes: (StateUpdate | undefined)[] = [];
    for (let pass = 0; pass < 3; pass += 1) {
      const step = await layer.beforeModel?.(state, fakeRun());
      passes.push(step?.update);
      state = applyUpdate(state, step?.update ?? {});
    }
    expect(passes.map((update) => update?.promoted?.names)).toEqual([['t5', 't4'], undefined, undefined]);
  });

  test('an agent without deferred tools is offered no search', () => {
    expect(deferredToolFilter({ tools: [tool('ls')] }).tools).toEqual([]);
  });

  test('an unknown deferred tool is neither shown nor called', async () => {
    const layer = deferredToolFilter({ tools: [tool('ls')] });
    const request: ModelRequest = { model: 'm', system: '', messages: [], tools, state: thread() };
    const next = () => Promise.reject(new Error('next was called'));

    await expect(layer.wrapModelCall?.(request, next, fakeRun())).rejects.toThrow("'mail' is not in the catalogue");
    const call = { name: 'mail', args: {}, id: 'c1', type: 'tool_call' } as const;
    expect(await layer.wrapToolCall?.({ call, tool: MAIL, state: thread() }, next, fakeRun())).toMatchObject({
      isError: true,
    });
  });

  test('two tools of one name cannot be distinguished', () => {
    expect(() => deferredToolFilter({ tools: [...tools, tool('mail')] })).toThrow("2 tools 'mail'");
  });
});
