import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ConfigError } from '@caribou/config';
import { SANDBOX_TOOLS } from '@caribou/contracts';
import { RESERVED_TOOL_NAMES } from '@caribou/core';
import { fakeSandbox } from '@caribou/testing';
import { MIDDLEWARE_NAMES } from '@caribou/middleware';
import { leadTools } from '@caribou/tools';
import { type Extensions, loadExtensions } from './load-extensions.js';
import type { LoadOptions } from './load-export.js';
import type { Toolkit } from './public-types.js';

const named = (name: string) => (caribou: Toolkit) => caribou.defineMiddleware({ name });
const withTool = (name: string, tool: string) => (caribou: Toolkit) => {
  const { defineMiddleware, defineTool, z } = caribou;
  return defineMiddleware({
    name,
    tools: [defineTool({ name: tool, description: 'x', input: z.object({}), run: () => 'x' })],
  });
};

const missing = (url: string): Error =>
  Object.assign(new Error('Cannot find module'), { code: 'ERR_MODULE_NOT_FOUND', url });
const modules: Readonly<Record<string, () => unknown>> = {
  'file:///x/good.mjs': () => ({
    one: named('one'),
    two: named('two'),
    again: named('one'),
    later: async (c: Toolkit) => named('later')(c),
  }),
  'file:///x/tools.mjs': () => ({ a: withTool('a', 'look'), b: withTool('b', 'look'), c: withTool('c', 'bash') }),
  'file:///x/bad.mjs': () => ({
    text: 'x',
    nothing: () => undefined,
    plain: () => ({ name: 'plain' }),
    throws: () => {
      throw new Error('no budget\nwas given');
    },
    ours: named('title'),
    form: named('My Middleware'),
    typo: (caribou: Toolkit) =>
      caribou.defineMiddleware({ name: 'typo', beforemodel: () => undefined } as { name: string }),
    hook: (caribou: Toolkit) => caribou.defineMiddleware({ name: 'hook', beforeModel: 7 as never }),
    foreign: (caribou: Toolkit) => caribou.defineMiddleware({ name: 'foreign', tools: [{ name: 'x' } as never] }),
    state: (caribou: Toolkit) => caribou.defineMiddleware({ name: 'state', state: { type: 'object' } as never }),
    stuck: () => new Promise(() => undefined),
  }),
  'file:///x/broken.mjs': () => {
    throw new SyntaxError('Unexpected token');
  },
  'file:///x/nested.mjs': () => {
    throw missing('file:///x/gone.mjs');
  },
};
const load: LoadOptions['load'] = (url) =>
  new Promise((resolve) => {
    const module = modules[url];
    if (module === undefined) throw missing(url);
    resolve(module());
  });

const options = { load, timeoutMs: 50, reserved: MIDDLEWARE_NAMES };
const loaded = async (...uses: readonly string[]): Promise<Extensions['middlewares']> => {
  const middlewares = uses.map((use) => ({ use, options: {} }));
  return (await loadExtensions({ middlewares, tools: [] }, options)).middlewares;
};
const faultsOf = async (...uses: readonly string[]): Promise<readonly string[]> => {
  const error: unknown = await loaded(...uses).catch((thrown: unknown) => thrown);
  return error instanceof ConfigError ? error.faults : ['no fault'];
};

describe('middlewares', () => {
  test('the middlewares of the config in its order', async () => {
    const names = (await loaded('/x/good.mjs#two', '/x/good.mjs#one', '/x/good.mjs#later')).map(({ name }) => name);
    expect(names).toEqual(['two', 'one', 'later']);
    expect(await loadExtensions({ middlewares: [], tools: [] }, { reserved: new Set() })).toEqual({
      middlewares: [],
      tools: [],
    });
  });

  test('the function is handed the toolkit and its options', async () => {
    const handed: unknown[] = [];
    const give = (caribou: Toolkit, options: unknown) => {
      handed.push(Object.keys(caribou).sort(), options);
      return named('x')(caribou);
    };
    const middlewares = [{ use: '/x/y.mjs#give', options: { words: 5 } }];
    await loadExtensions({ middlewares, tools: [] }, { load: () => Promise.resolve({ give }), reserved: new Set() });

    expect(handed).toEqual([['defineMiddleware', 'defineModel', 'defineTool', 'textOf', 'z'], { words: 5 }]);
  });

  test.each<[string, string | RegExp]>([
    ['/x/none.mjs#a', 'there is no file /x/none.mjs'],
    ['/x/broken.mjs#a', 'it cannot be loaded: SyntaxError: Unexpected token'],
    ['/x/nested.mjs#a', 'it cannot be loaded: Error: Cannot find module'],
    ['x/good.mjs#one', 'must be an absolute path, # and the name of an export'],
    ['/x/good.mjs#three', 'it has no export three; it has one, two, again, later'],
    ['/x/good.mjs#toString', /^it has no export toString/],
    ['/x/bad.mjs#text', 'its export text is not a function'],
    ['/x/bad.mjs#nothing', 'nothing must return what defineMiddleware gives'],
    ['/x/bad.mjs#plain', 'plain must return what defineMiddleware gives'],
    ['/x/bad.mjs#throws', 'Error: no budget was given'],
    ['/x/bad.mjs#ours', 'its definition is wrong: name: title is the name of a built-in middleware'],
    ['/x/bad.mjs#form', 'its definition is wrong: name: must match ^[a-z][a-z0-9-]{0,40}$'],
    ['/x/bad.mjs#typo', /^its definition is wrong: .*"beforemodel"/],
    ['/x/bad.mjs#hook', 'its definition is wrong: beforeModel: must be a function'],
    ['/x/bad.mjs#foreign', 'its definition is wrong: tools.0: must be made with defineTool'],
    ['/x/bad.mjs#state', 'its definition is wrong: state: must be a schema made with z'],
    ['/x/bad.mjs#stuck', 'it was not loaded within 50 ms'],
    ['/x/tools.mjs#c', 'the definition of a tool is wrong: name: bash is the name of a built-in tool'],
  ])('%s: %s', async (use, fault) => {
    const [message = '', ...more] = await faultsOf(use);
    const said = message.slice(`extensions.middlewares[0] (${use}): `.length);

    expect(message.startsWith(`extensions.middlewares[0] (${use}): `)).toBe(true);
    if (typeof fault === 'string') expect(said).toBe(fault);
    else expect(said).toMatch(fault);
    expect(more).toEqual([]);
  });

  test('every wrong entry has a line, and names of middlewares and tools are taken once', async () => {
    expect(
      await faultsOf('/x/good.mjs#one', '/x/good.mjs#again', '/x/tools.mjs#a', '/x/tools.mjs#b', '/x/none.mjs#a'),
    ).toEqual([
      "extensions.middlewares[1] (/x/good.mjs#again): there is another middleware 'one'",
      "extensions.middlewares[3] (/x/tools.mjs#b): there is another tool 'look'",
      'extensions.middlewares[4] (/x/none.mjs#a): there is no file /x/none.mjs',
    ]);
  });

  test('a module is really imported, and a missing one is reported with its url', () => {
    const script = `const { importModule } = require(process.argv[1]);
      importModule('data:text/javascript,export const a = 1').then(({ a }) => process.stdout.write(String(a)));
      importModule('file:///nowhere/x.mjs').catch((error) => process.stdout.write(error.url));`;
    const out = execFileSync(process.execPath, ['-e', script, join(__dirname, 'import-module.js')], {
      encoding: 'utf8',
    });

    expect(out).toContain('1');
    expect(out).toContain('file:///nowhere/x.mjs');
  });
});

describe('RESERVED_TOOL_NAMES', () => {
  test('has the name of every tool of the lead agent', () => {
    const tools = leadTools({ sandbox: fakeSandbox() }, { vision: true }).map(({ name }) => name);

    expect(tools.filter((name) => !RESERVED_TOOL_NAMES.has(name))).toEqual([]);
  });

  test('has no name of a sandbox tool that does not exist', () => {
    const tools = leadTools({ sandbox: fakeSandbox() }, { vision: true }).map(({ name }) => name);

    expect(SANDBOX_TOOLS.filter((name) => !tools.includes(name))).toEqual([]);
  });
});
