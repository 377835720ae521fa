import type { ThreadState } from '@caribou/contracts';
import type { SandboxPort, ToolCallRequest, ToolOutcome } from '@caribou/core';
import { fakeRun, fakeSandbox } from '@caribou/testing';
import { sandbox } from './sandbox.js';

const binding = { sandbox_id: 'box-1', driver: 'bwrap' } as const;
const requestIn = (state: ThreadState): ToolCallRequest => ({
  call: { name: 'bash', args: {}, id: 'c1', type: 'tool_call' },
  tool: undefined,
  state,
});

/** Executes a command as a tool would, inside the layer. */
function useSandbox(port: SandboxPort, state: ThreadState): Promise<ToolOutcome> | undefined {
  const run = fakeRun();
  const scope = { userId: run.userId, threadId: run.threadId, epoch: run.epoch };
  return sandbox(port).wrapToolCall?.(
    requestIn(state),
    async () => {
      await port.exec(scope, { key: 'k', command: 'true', timeout_ms: 1000, max_output_bytes: 1024 }, run.signal);
      return { content: 'ran', isError: true };
    },
    run,
  );
}

describe(sandbox, () => {
  test('a sandbox acquired by a tool becomes part of the state, even when the tool failed', async () => {
    expect(await useSandbox(fakeSandbox(), { messages: [] })).toEqual({
      content: 'ran',
      isError: true,
      update: { sandbox: binding },
    });
  });

  test('a binding the state holds already is not written again', async () => {
    expect(await useSandbox(fakeSandbox(), { messages: [], sandbox: binding })).toEqual({
      content: 'ran',
      isError: true,
    });
  });

  test('a tool that needs no sandbox leaves none', async () => {
    const outcome: ToolOutcome = { content: 'asked' };

    await expect(
      sandbox(fakeSandbox()).wrapToolCall?.(requestIn({ messages: [] }), () => Promise.resolve(outcome), fakeRun()),
    ).resolves.toBe(outcome);
  });

  test('the end of a run releases what it used, also when the runner before had acquired it', async () => {
    const used = fakeSandbox();
    await useSandbox(used, { messages: [] });
    await sandbox(used).afterAgent?.({ messages: [] }, fakeRun());
    const takenOver = fakeSandbox();
    await sandbox(takenOver).afterAgent?.({ messages: [], sandbox: binding }, fakeRun({ attempt: 2 }));

    expect(used.released).toEqual([{ userId: 'default', threadId: 'thread-1', epoch: 1 }]);
    expect(takenOver.released).toHaveLength(1);
  });

  test('a run that used no sandbox releases none, though the thread has one', async () => {
    const port = fakeSandbox();

    await sandbox(port).afterAgent?.({ messages: [], sandbox: binding }, fakeRun());

    expect(port.released).toEqual([]);
  });
});
