import type { Message } from '@caribou/contracts';
import { contentHashMark, type ToolCallRequest } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { readBeforeWrite } from './read-before-write.js';

const PATH = '/mnt/user-data/workspace/a.txt';

const read = (sha256: string, id: string): Message => ({
  type: 'tool',
  id,
  content: 'text',
  name: 'read_file',
  tool_call_id: id,
  status: 'success',
  additional_kwargs: { ...contentHashMark(PATH, sha256) },
  response_metadata: {},
});

/** The expectation that the tool gets for the file that it changes. */
async function expectedBy(name: string, args: Record<string, unknown>, messages: Message[] = []): Promise<unknown> {
  const request: ToolCallRequest = {
    call: { name, args, id: 'c9', type: 'tool_call' },
    tool: undefined,
    state: { messages },
  };
  let reached: ToolCallRequest | undefined;
  const next = (inner: ToolCallRequest) => {
    reached = inner;
    return Promise.resolve({ content: 'OK' });
  };
  expect(await readBeforeWrite().wrapToolCall?.(request, next, fakeRun())).toEqual({ content: 'OK' });
  return reached?.expectedFile;
}

describe(readBeforeWrite, () => {
  test.each(['write_file', 'str_replace'])(
    '%s goes with the newest hash that the thread knows of the file',
    async (name) => {
      const messages = [read('old', 'c1'), read('new', 'c2')];

      expect(await expectedBy(name, { path: PATH, append: true }, messages)).toEqual({ sha256: 'new' });
    },
  );

  test('a file that was never read is expected not to be there', async () => {
    expect(await expectedBy('write_file', { path: PATH })).toEqual({ sha256: null });
    expect(await expectedBy('write_file', { path: '/mnt/user-data/workspace/b' }, [read('x', 'c1')])).toEqual({
      sha256: null,
    });
  });

  test('other tools, and a path that is not text, expect nothing', async () => {
    expect(await expectedBy('read_file', { path: PATH })).toBeUndefined();
    expect(await expectedBy('bash', { command: `rm ${PATH}` })).toBeUndefined();
    expect(await expectedBy('write_file', { path: 1 })).toBeUndefined();
  });
});
