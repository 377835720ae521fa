import { ExtensionError, FencedError } from '@caribou/contracts';
import { RunCancelled, RunDraining, RunLost, type ToolCallRequest, type ToolOutcome } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { toolError } from './tool-error.js';

const request: ToolCallRequest = {
  call: { name: 'bash', args: {}, id: 'c1', type: 'tool_call' },
  tool: undefined,
  state: { messages: [] },
};
const failWith = (error: unknown): Promise<ToolOutcome> | undefined =>
  toolError().wrapToolCall?.(request, () => Promise.reject(error), fakeRun());

describe(toolError, () => {
  test('an exception becomes an answer with its type and detail, and what to do about it', async () => {
    await expect(failWith(new TypeError('no such thing'))).resolves.toEqual({
      content:
        "Error: Tool 'bash' failed with TypeError: no such thing. Continue with the available context, or choose another tool.",
      isError: true,
    });
  });

  test('the detail is cut at 500 characters', async () => {
    const outcome = await failWith(new Error('x'.repeat(600)));

    expect(outcome?.content).toContain(`: ${'x'.repeat(497)}.... Continue`);
  });

  test('an exception without a text is reported by its name', async () => {
    expect((await failWith(new RangeError()))?.content).toContain('failed with RangeError: RangeError.');
  });

  test.each([
    new RunCancelled('rollback'),
    new RunLost('lease'),
    new RunDraining(),
    new FencedError('not the owner'),
    new ExtensionError("the middleware 'x' failed"),
  ])('what ends the run passes: %p', async (error) => {
    await expect(failWith(error)).rejects.toBe(error);
  });

  test('whatever failed after an abort passes', async () => {
    const run = fakeRun();
    run.abort(new RunCancelled('interrupt'));
    const error = new Error('socket closed');

    await expect(toolError().wrapToolCall?.(request, () => Promise.reject(error), run)).rejects.toBe(error);
  });

  test('a normal outcome is left as it is', async () => {
    const outcome: ToolOutcome = { content: 'fine' };

    await expect(toolError().wrapToolCall?.(request, () => Promise.resolve(outcome), fakeRun())).resolves.toBe(outcome);
  });
});
