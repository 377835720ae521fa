import { DeadlineError, ExtensionError } from '@caribou/contracts';
import type { AnyTool, ToolContext } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { z } from 'zod';
import { defineMiddleware } from './custom-middleware.js';
import { defineCustomTool } from './custom-tool.js';
import type { CustomToolContext, ToolDefinition } from './public-types.js';

const Input = z.object({ city: z.string() });
const Own = z.object({ asked: z.int() });
type Definition = ToolDefinition<typeof Input, z.infer<typeof Own>>;

const definition: Definition = {
  name: 'look',
  description: 'Looks',
  input: Input,
  run: ({ city }) => `sun in ${city}`,
};

function toolOf(over: Partial<Definition>): AnyTool {
  const tools = [defineCustomTool<typeof Input, z.infer<typeof Own>>({ ...definition, ...over })];
  const [tool] = defineMiddleware({ name: 'probe', state: Own, tools }).middleware.tools ?? [];
  if (tool === undefined) throw new Error('no tool');
  return tool;
}
const state = { messages: [], extensions: { probe: { asked: 1 } } };
const context = (): ToolContext => ({ run: fakeRun(), toolCallId: 'c1', key: 'r1:c1', state });
const call = (over: Partial<Definition>, args = { city: 'Oslo' }) => toolOf(over).invoke(args, context());

describe('a tool of custom code', () => {
  test('it is described to the model by its schema and traits', () => {
    expect(toolOf({ deferred: { keywords: ['sun'], priority: 5 }, remote: true })).toMatchObject({
      name: 'look',
      description: 'Looks',
      remote: true,
      deferred: { keywords: ['sun'], priority: 5 },
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    });
  });

  test('a string is an answer, and so are content and own state', async () => {
    expect(await call({})).toEqual({ content: 'sun in Oslo' });
    expect(await call({ run: (_input, { own }) => ({ content: 'x', own: { asked: (own?.asked ?? 0) + 1 } }) })).toEqual(
      {
        content: 'x',
        update: { extensions: { probe: { asked: 2 } } },
      },
    );
  });

  test('it knows its call and the thread', async () => {
    let seen: CustomToolContext<unknown> | undefined;
    await call({ run: (_input, given) => ((seen = given), 'x') });

    expect(seen).toMatchObject({ toolCallId: 'c1', key: 'r1:c1', threadId: 'thread-1', state: { messages: [] } });
  });

  test('arguments that break its schema do not reach it', async () => {
    const outcome = await toolOf({ run: () => Promise.reject(new Error('called')) }).invoke({ city: 7 }, context());

    expect(outcome).toMatchObject({ isError: true });
  });

  test('what it throws passes as it is, and so does its deadline', async () => {
    const wrong = new Error('no such city');

    await expect(call({ run: () => Promise.reject(wrong) })).rejects.toBe(wrong);
    await expect(call({ timeoutMs: 5, run: () => new Promise(() => undefined) })).rejects.toThrow(DeadlineError);
  });

  test('an invalid answer, and state that breaks the schema, are errors that name it', async () => {
    await expect(call({ run: () => 7 as never })).rejects.toThrow("'probe' gave a wrong answer in the tool look");
    await expect(call({ run: () => ({ content: 'x', own: { asked: 'x' as never } }) })).rejects.toThrow(ExtensionError);
  });

  test.each<[string, Partial<Definition>]>([
    ['name', { name: 'Look' }],
    ['name', { name: 'write_todos' }],
    ['description', { description: '' }],
    ['input', { input: {} as never }],
    ['run', { run: 'x' as never }],
    ['deferred.priority', { deferred: { priority: 101 } }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['"inputs"', { inputs: 1 } as never],
  ])('a definition with a wrong %s is refused', (what, over) => {
    expect(() => defineCustomTool({ ...definition, ...over })).toThrow(ExtensionError);
    expect(() => defineCustomTool({ ...definition, ...over })).toThrow(what);
  });
});
