import { createHash } from 'node:crypto';
import type { FileExpectation, ToolMessage } from '@caribou/contracts';
import { type AnyTool, lastReadHash, type ToolOutcome } from '@caribou/core';
import { type FakeSandbox, fakeRun, fakeSandbox } from '@caribou/testing';
import { readFileTool } from './read-file.js';
import { strReplaceTool } from './str-replace.js';
import { writeFileTool } from './write-file.js';

const path = '/mnt/user-data/workspace/a.txt';
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('files that are changed as they are known', () => {
  let sandbox: FakeSandbox;
  let calls = 0;
  beforeEach(async () => {
    sandbox = fakeSandbox();
    await call(writeFileTool(sandbox), { path, content: 'one' });
  });

  const call = (
    tool: AnyTool,
    args: Readonly<Record<string, unknown>>,
    expectedFile?: FileExpectation,
  ): Promise<ToolOutcome> => {
    const toolCallId = `c${(calls += 1)}`;
    const context = { run: fakeRun(), toolCallId, key: `r1:${toolCallId}`, state: { messages: [] } };
    return tool.invoke(args, expectedFile === undefined ? context : { ...context, expectedFile });
  };
  const messageOf = ({ content, additionalKwargs }: ToolOutcome): ToolMessage => ({
    type: 'tool',
    id: 'm1',
    name: 'read_file',
    tool_call_id: 'm1',
    status: 'success',
    content,
    additional_kwargs: { ...additionalKwargs },
    response_metadata: {},
  });

  test('read_file marks its answer with the hash of the whole file', async () => {
    const outcome = await call(readFileTool(sandbox), { path, start_line: 1, end_line: 1 });

    expect(lastReadHash([messageOf(outcome)], path)).toBe(sha256Of('one'));
  });

  test('a failed read, and a manager that returns no hash, leave no mark', async () => {
    const silent = {
      ...sandbox,
      read: () =>
        Promise.resolve({ outcome: 'ok' as const, text: 'one', total_bytes: 3, total_lines: 1, truncated: false }),
    };

    expect((await call(readFileTool(sandbox), { path: `${path}.none` })).additionalKwargs).toBeUndefined();
    expect((await call(readFileTool(silent), { path })).additionalKwargs).toBeUndefined();
  });

  test.each<[string, (sandbox: FakeSandbox) => AnyTool, Record<string, unknown>, string]>([
    ['write_file', writeFileTool, { path, content: 'two' }, 'two'],
    ['an append', writeFileTool, { path, content: 'two', append: true }, 'onetwo'],
    ['str_replace', strReplaceTool, { path, old_str: 'one', new_str: 'two' }, 'two'],
  ])('%s changes the file that is expected, and no other', async (_, toolOf, args, after) => {
    const unread = await call(toolOf(sandbox), args, { sha256: null });
    const stale = await call(toolOf(sandbox), args, { sha256: sha256Of('zero') });
    expect(sandbox.files.get(path)).toBe('one');
    const known = await call(toolOf(sandbox), args, { sha256: sha256Of('one') });

    expect(unread).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^Error: File exists and you have not read it .*Call read_file on it/),
    });
    expect(stale).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^Error: File has changed since you last read it/),
    });
    expect(known.isError).toBeUndefined();
    expect(sandbox.files.get(path)).toBe(after);
  });

  test('a new file needs no read, and a file that is gone may be made again', async () => {
    const fresh = `${path}.new`;

    expect(await call(writeFileTool(sandbox), { path: fresh, content: 'x' }, { sha256: null })).toEqual({
      content: 'OK',
    });
    const gone = await call(
      writeFileTool(sandbox),
      { path: `${path}.gone`, content: 'x' },
      { sha256: sha256Of('old') },
    );
    expect(gone).toEqual({ content: 'OK' });
    const missing = { path: `${path}.none`, old_str: 'a', new_str: 'b' };
    expect((await call(strReplaceTool(sandbox), missing, { sha256: null })).content).toContain('File not found');
  });
});
