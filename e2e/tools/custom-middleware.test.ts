import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { TestService } from '@caribou/testing';
import { type ApiClient, lastValues } from '../support/client.js';
import { nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

const EXAMPLE = resolve('examples/custom-middleware/word-budget.mjs');
/** A middleware that fails in the hook that a run's switch names; its file is beside the config. */
const FAULTY = `export const faulty = ({ defineMiddleware }) => {
  const fail = (hook) => (first, ...rest) => {
    const context = rest.at(-1);
    if (context.switches.fail_in === hook) throw new Error('the secret is 42');
    return hook.startsWith('wrap') ? rest[0]() : undefined;
  };
  const hooks = ['beforeAgent', 'beforeModel', 'wrapModelCall', 'afterModel', 'wrapToolCall', 'afterAgent'];
  return defineMiddleware({ name: 'faulty', ...Object.fromEntries(hooks.map((hook) => [hook, fail(hook)])) });
};
export const text = 'no function';
`;
const CONFIG = `extensions:
  middlewares:
    - use: ${EXAMPLE}#wordBudget
      options: {words: 5}
    - ./faulty.mjs#faulty
`;

interface ThreadState {
  readonly values: { readonly extensions?: unknown };
}
interface Run {
  readonly status: string;
  readonly stop_reason: string | null;
}

describe('custom middlewares over the real stack', () => {
  let stack: Stack;
  let client: ApiClient;
  let runner: TestService;
  beforeAll(async () => {
    stack = await startStack({ config: CONFIG, runners: 0 });
    await writeFile(join(stack.homeDir, 'faulty.mjs'), FAULTY);
    runner = await stack.start('agent-runner');
    client = stack.client();
  });
  afterAll(() => stack.stop());

  const ownState = async (threadId: string): Promise<unknown> =>
    (await client.call<ThreadState>('GET', `/threads/${threadId}/state`)).body.values.extensions;
  const lastRun = async (threadId: string): Promise<Run> =>
    nth((await client.call<readonly Run[]>('GET', `/threads/${threadId}/runs`)).body, 0);

  test('the example counts, warns, and ends a run at its budget, also when another runner continues', async () => {
    const threadId = await client.newThread();
    const script = '#say one two\n#tool words_left {}\n#say three four five';
    const frames = await (await client.run(threadId, script.replace('#tool', '#+tool'))).end();

    const published = frames.filter(({ event }) => event === 'custom').map(({ data }) => data);
    expect(published).toEqual([
      { type: 'word_budget', used: 2, budget: 5 },
      { type: 'word_budget', used: 5, budget: 5 },
    ]);
    expect(lastValues(frames).find(({ type }) => type === 'tool')?.content).toBe('3 of 5 words are left.');
    expect(await ownState(threadId)).toEqual({ 'word-budget': { used: 5 } });
    const requests = stack.model.requests('one two').map((request) => JSON.stringify(request));
    expect(requests.map((request) => /You may write (\d) more words/.exec(request)?.[1])).toEqual(['5', '3']);

    await Promise.all([stack.start('agent-runner'), runner.kill9()]);
    const more = await (await client.run(threadId, '#say never said')).end();

    expect(lastValues(more).at(-1)?.content).toMatch(/^The budget of 5 words .* is used up/);
    expect(stack.model.requests('never said')).toEqual([]);
    expect(await lastRun(threadId)).toMatchObject({ status: 'success', stop_reason: 'word_budget' });
  });

  test.each(['beforeAgent', 'beforeModel', 'wrapModelCall', 'afterModel', 'wrapToolCall', 'afterAgent'])(
    'a middleware that throws in %s fails the run by its name, without its text',
    async (hook) => {
      const threadId = await client.newThread();
      const script = '#tool bash {"description":"x","command":"true"}\n#say ok';
      const frames = await (await client.run(threadId, script, { context: { fail_in: hook } })).end();

      const error = frames.find(({ event }) => event === 'error')?.data;
      expect(error).toMatchObject({
        error: 'ExtensionError',
        message: `the middleware 'faulty' failed in ${hook}: Error`,
      });
      expect(JSON.stringify(frames)).not.toContain('the secret');
      expect(await lastRun(threadId)).toMatchObject({ status: 'error' });
    },
  );

  test.each<[string, string]>([
    ['./none.mjs#a', 'there is no file'],
    ['./faulty.mjs#other', 'it has no export other; it has faulty, text'],
    ['./faulty.mjs#text', 'its export text is not a function'],
    [`${EXAMPLE}#wordBudget", "${EXAMPLE}#wordBudget`, "there is another middleware 'word-budget'"],
  ])('a runner whose config names %s does not start, and says why in a line', async (use, reason) => {
    const path = join(stack.homeDir, 'bad.yaml');
    await writeFile(path, `extensions: {middlewares: ["${use}"]}\n`);

    const starting = stack.start('agent-runner', { CARIBOU_CONFIG: path });

    await expect(starting).rejects.toThrow(/ended with 1 before it was ready/);
    await expect(starting).rejects.toThrow(/The configuration is not valid:\n {2}- extensions\.middlewares\[[01]\] \(/);
    await expect(starting).rejects.toThrow(reason);
  });
});
