import { ConfigError, Secret } from '@caribou/config';
import type { AnyTool, ToolContext } from '@caribou/core';
import { fakeRun, memoryToolJournal } from '@caribou/testing';
import { type Extensions, loadExtensions, type ToolEntry } from './load-extensions.js';
import type { Toolkit } from './public-types.js';
import { withJournal } from './with-journal.js';

const made =
  (name: string, over: object = {}) =>
  ({ defineTool, z }: Toolkit, options: unknown) =>
    defineTool({
      name,
      description: 'Says it',
      input: z.object({ text: z.string() }),
      run: ({ text }) => `${name}: ${text} ${JSON.stringify(options)}`,
      ...over,
    });
const jsonSchema = {
  type: 'object',
  properties: { n: { type: 'integer', minimum: 1 } },
  required: ['n'],
  additionalProperties: false,
};
const exported: Readonly<Record<string, unknown>> = {
  say: made('say'),
  again: made('say'),
  look: made('look', { readOnly: true }),
  json: made('json', { input: jsonSchema, run: ({ n }: { n: number }) => `${n + 1}` }),
  ours: made('bash'),
  list: made('list', { input: { type: 'array' } }),
  text: ({ defineTool, z }: Toolkit) =>
    defineTool({ name: 'text', description: 'x', input: z.string(), run: () => '' }),
  date: ({ defineTool, z }: Toolkit) =>
    defineTool({ name: 'date', description: 'x', input: z.object({ at: z.date() }), run: () => '' }),
  middleware: ({ defineMiddleware }: Toolkit) => defineMiddleware({ name: 'one' }),
  carrier: (caribou: Toolkit) => caribou.defineMiddleware({ name: 'carrier', tools: [made('say')(caribou, {})] }),
  wrong: made('wrong', { run: () => 7 }),
};
const load = (): Promise<unknown> => Promise.resolve(exported);

const entry = (name: string, at: string = name, over: Partial<ToolEntry> = {}): ToolEntry => ({
  key: 'tools[0]',
  name,
  use: `/x/y.mjs#${at}`,
  options: new Secret({}),
  ...over,
});
const loaded = (tools: readonly ToolEntry[], middlewares: readonly string[] = []): Promise<Extensions> =>
  loadExtensions(
    { tools, middlewares: middlewares.map((at) => ({ use: `/x/y.mjs#${at}`, options: {} })) },
    { load, reserved: new Set() },
  );
async function toolOf(name: string, over: Partial<ToolEntry> = {}): Promise<AnyTool> {
  const [tool] = (await loaded([entry(name, name, over)])).tools;
  if (tool === undefined) throw new Error('no tool');
  return tool;
}
const context = (): ToolContext => ({ run: fakeRun(), toolCallId: 'c1', key: 'r1:c1', state: { messages: [] } });

describe("tools of the operator's own", () => {
  test('they come in the order of the config, with the group and the options of their entry', async () => {
    const { tools } = await loaded([
      entry('look'),
      entry('say', 'say', { group: 'shop', options: new Secret({ api_key: 'k' }) }),
    ]);

    expect(tools.map(({ name, group }) => [name, group])).toEqual([
      ['look', undefined],
      ['say', 'shop'],
    ]);
    expect(await tools[1]?.invoke({ text: 'hi' }, context())).toEqual({ content: 'say: hi {"api_key":"k"}' });
  });

  test('arguments are described by a JSON Schema as well', async () => {
    const tool = await toolOf('json');

    expect(tool.parameters).toEqual(jsonSchema);
    expect(await tool.invoke({ n: 4 }, context())).toEqual({ content: '5' });
    for (const args of [{ n: 0 }, { n: 'x' }, {}, { n: 1, more: 1 }])
      expect(await tool.invoke(args, context())).toMatchObject({
        isError: true,
        content: expect.stringMatching(/^Error: Invalid arguments/),
      });
  });

  test('a wrong answer is an error in the name of the tool', async () => {
    const tool = await toolOf('wrong');

    await expect(tool.invoke({ text: 'x' }, context())).rejects.toThrow("the tool 'wrong' gave a wrong answer in run");
  });

  test.each<[string, ToolEntry, string | RegExp]>([
    ['another name', entry('shout', 'say'), "the tool is 'say' by its definition; the entry must have the same name"],
    ['a middleware', entry('one', 'middleware'), 'middleware must return what defineTool gives'],
    ['no such export', entry('x', 'gone'), /^it has no export gone; it has say, /],
    [
      'a name of ours',
      entry('bash', 'ours'),
      'the definition of a tool is wrong: name: bash is the name of a built-in tool',
    ],
    ['no object', entry('list'), "the input of the tool 'list' cannot be used: it must describe an object"],
    ['a text', entry('text'), "the input of the tool 'text' cannot be used: it must describe an object"],
    ['a date', entry('date'), /^the input of the tool 'date' cannot be used: Date cannot be represented/],
  ])('%s stops the start of the service', async (_what, wrong, fault) => {
    const error: unknown = await loaded([wrong]).catch((thrown: unknown) => thrown);
    const [line = '', ...more] = error instanceof ConfigError ? error.faults : [];
    const said = line.slice(`tools[0] (${wrong.use}): `.length);

    expect(line.startsWith(`tools[0] (${wrong.use}): `)).toBe(true);
    expect(more).toEqual([]);
    if (typeof fault === 'string') expect(said).toBe(fault);
    else expect(said).toMatch(fault);
  });

  test('every broken entry of both lists has its line, and a name is taken once', async () => {
    const tools = [entry('look', 'look', { key: 'tools[4]' }), entry('say', 'again', { key: 'tools[5]' })];
    const error: unknown = await loaded([...tools, entry('x', 'gone')], ['carrier', 'say']).catch(
      (thrown: unknown) => thrown,
    );

    expect(error instanceof ConfigError && error.faults).toEqual([
      'extensions.middlewares[1] (/x/y.mjs#say): say must return what defineMiddleware gives',
      "tools[5] (/x/y.mjs#again): there is another tool 'say'",
      expect.stringMatching(/^tools\[0\] .*no export gone/),
    ]);
  });
});

describe(withJournal, () => {
  test('a call with an effect is made once for its key; one that only reads as often as it is asked for', async () => {
    const calls: string[] = [];
    const count = (name: string) => ({ run: () => (calls.push(name), `${calls.length}`) });
    const module = { a: made('say', count('say')), b: made('look', { ...count('look'), readOnly: true }) };
    const entries = { tools: [entry('say', 'a'), entry('look', 'b')], middlewares: [] };
    const { tools } = withJournal(
      await loadExtensions(entries, { load: () => Promise.resolve(module), reserved: new Set() }),
      memoryToolJournal(),
    );
    const [say, look] = tools;

    const first = await say?.invoke({ text: 'x' }, context());
    expect(await say?.invoke({ text: 'x' }, context())).toEqual(first);
    expect(await say?.invoke({ text: 'y' }, context())).toMatchObject({ isError: true });
    await say?.invoke({ text: 'x' }, { ...context(), key: 'r1:c2' });
    for (const _ of [1, 2]) await look?.invoke({ text: 'x' }, context());

    expect(calls).toEqual(['say', 'say', 'look', 'look']);
  });

  test('a call with an unknown outcome is not made again, also of a tool that a middleware adds', async () => {
    let calls = 0;
    const stuck = (caribou: Toolkit) =>
      caribou.defineMiddleware({
        name: 'stuck',
        tools: [made('say', { run: () => ((calls += 1), Promise.reject(new Error('gone'))) })(caribou, {})],
      });
    const middlewares = [{ use: '/x/y.mjs#stuck', options: {} }];
    const extensions = await loadExtensions(
      { middlewares, tools: [] },
      { load: () => Promise.resolve({ stuck }), reserved: new Set() },
    );
    const tool = withJournal(extensions, memoryToolJournal()).middlewares[0]?.tools?.[0];

    await expect(tool?.invoke({ text: 'x' }, context())).rejects.toThrow('gone');
    expect(await tool?.invoke({ text: 'x' }, context())).toMatchObject({
      isError: true,
      content: expect.stringMatching(/outcome.*unknown/),
    });
    expect(calls).toBe(1);
  });
});
