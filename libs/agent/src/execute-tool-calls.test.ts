import { textOf, type ToolCall } from '@caribou/contracts';
import { type AgentMiddleware, type AnyTool, defineTool, type ToolContext } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { z } from 'zod';
import { executeToolCalls } from './execute-tool-calls.js';

const call = (id: string, args: Readonly<Record<string, unknown>> = {}): ToolCall => ({
  name: 't',
  args,
  id,
  type: 'tool_call',
});
const tool = (
  run: (input: { readonly n: number }, context: ToolContext) => Promise<{ readonly content: string }>,
): AnyTool => defineTool({ name: 't', description: '', input: z.object({ n: z.number().default(0) }), run });
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const execute = (
  valid: readonly ToolCall[],
  tools: readonly AnyTool[],
  chain: readonly AgentMiddleware[] = [],
  run = fakeRun(),
) => executeToolCalls({ chain, tools, run, state: { messages: [] }, step: 1, calls: { valid, invalid: [] } });

describe(executeToolCalls, () => {
  test('results come in call order, whichever ends first, under ids derived from the calls', async () => {
    const gates = new Map<number, () => void>();
    const waits = tool(async ({ n }) => {
      await new Promise<void>((resolve) => gates.set(n, resolve));
      return { content: `result ${n}` };
    });
    const executing = execute(
      [0, 1, 2].map((n) => call(`c${n}`, { n })),
      [waits],
    );
    for (const n of [2, 0, 1]) {
      while (!gates.has(n)) await tick();
      gates.get(n)?.();
    }

    const results = await executing;

    expect(results.map((result) => result.update.messages)).toMatchObject(
      [0, 1, 2].map((n) => [{ id: `tool:c${n}`, tool_call_id: `c${n}`, content: `result ${n}`, status: 'success' }]),
    );
  });

  test('at most eight calls run at the same time, and all are executed', async () => {
    let running = 0;
    let highest = 0;
    const counts = tool(async () => {
      running += 1;
      highest = Math.max(highest, running);
      await tick();
      running -= 1;
      return { content: '' };
    });

    const results = await execute(
      Array.from({ length: 20 }, (_, n) => call(`c${n}`)),
      [counts],
    );

    expect(results).toHaveLength(20);
    expect(highest).toBe(8);
  });

  test('a tool gets what a layer says of its command and of the file it changes', async () => {
    const audit = { verdict: 'warn' as const, rules: ['r'] };
    const expectedFile = { sha256: null };
    const told: Pick<ToolContext, 'audit' | 'expectedFile'>[] = [];
    const listens = tool((_input, context) => {
      told.push(context);
      return Promise.resolve({ content: '' });
    });
    const says: AgentMiddleware = {
      name: 'says',
      wrapToolCall: (request, next) => next({ ...request, audit, expectedFile }),
    };

    await execute([call('c1')], [listens], [says]);
    await execute([call('c2')], [listens]);

    expect(told.map((context) => [context.audit, context.expectedFile])).toEqual([
      [audit, expectedFile],
      [undefined, undefined],
    ]);
  });

  test('a tool gets the key under which executors keep its result', async () => {
    const keys: string[] = [];
    const run = fakeRun();

    await execute(
      [call('c1')],
      [tool((_input, context) => Promise.resolve({ content: keys.push(context.key).toString() }))],
      [],
      run,
    );

    expect(keys).toEqual([`${run.runId}:c1`]);
  });

  test('layers nest around each call with the first outermost', async () => {
    const wraps = (name: string): AgentMiddleware => ({
      name,
      wrapToolCall: async (request, next) => {
        const outcome = await next(request);
        return { ...outcome, content: `${name}(${textOf(outcome.content)})` };
      },
    });

    const [result] = await execute(
      [call('c1')],
      [tool(() => Promise.resolve({ content: 'x' }))],
      [wraps('a'), wraps('b')],
    );

    expect(result?.update.messages).toMatchObject([{ content: 'a(b(x))' }]);
  });

  test('an exception no layer turned into an answer is thrown once the siblings have settled', async () => {
    let settled = false;
    const mixed = tool(async ({ n }) => {
      if (n === 0) throw new Error('broken');
      await tick();
      settled = true;
      return { content: '' };
    });

    await expect(execute([call('c0', { n: 0 }), call('c1', { n: 1 })], [mixed])).rejects.toThrow('broken');
    expect(settled).toBe(true);
  });

  test('arguments that break the schema are an answer that names the field', async () => {
    const [result] = await execute([call('c1', { n: 'seven' })], [tool(() => Promise.reject(new Error('ran')))]);

    expect(result?.update.messages).toMatchObject([
      { status: 'error', content: expect.stringContaining('n: ') as string },
    ]);
  });
});
