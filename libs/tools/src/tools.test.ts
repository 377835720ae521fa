import { type SandboxReply, UnavailableError } from '@caribou/contracts';
import type { AnyTool, SandboxPort, ToolContext, ToolOutcome } from '@caribou/core';
import { fakeRun, fakeSandbox } from '@caribou/testing';
import { askClarificationTool } from './conversation/ask-clarification.js';
import { bashTool } from './sandbox/bash.js';
import { readFileTool } from './sandbox/read-file.js';
import { leadTools } from './toolset.js';
import { writeFileTool } from './sandbox/write-file.js';

const context = (): ToolContext => ({ run: fakeRun(), toolCallId: 'c1', key: 'r1:c1', state: { messages: [] } });
const invoke = (tool: AnyTool, args: Readonly<Record<string, unknown>>): Promise<ToolOutcome> =>
  tool.invoke({ description: 'why', ...args }, context());

describe(bashTool, () => {
  const after = (done: Partial<Extract<SandboxReply<'exec'>, { outcome: 'done' }>>): Promise<ToolOutcome> =>
    invoke(bashTool(fakeSandbox(() => done)), { command: 'x' });

  test.each<[Partial<Extract<SandboxReply<'exec'>, { outcome: 'done' }>>, string]>([
    [{ stdout: 'out\n' }, 'out\n'],
    [{ stdout: 'out', stderr: 'err' }, 'out\nStd Error:\nerr'],
    [{ stderr: 'err' }, 'err'],
    [{ stdout: 'out', exit_code: 2 }, 'out\nExit Code: 2'],
    [{ stderr: 'err', exit_code: 127 }, 'err\nExit Code: 127'],
    [{}, '(no output)'],
  ])('%j is shown as %j and is no error', async (done, content) => {
    expect(await after(done)).toEqual({ content });
  });

  test('long output is cut in the middle to 20000 characters', async () => {
    const { content } = await after({ stdout: `begin${'x'.repeat(50_000)}end`, exit_code: 1 });

    expect(content.length).toBeLessThanOrEqual(20_000);
    expect(content).toMatch(/^beginx+\n\.\.\. \[\d+ characters skipped\] \.\.\.\nx+end\nExit Code: 1$/);
  });

  test('output that the executor dropped is counted', async () => {
    expect((await after({ stdout: 'a', truncated_bytes: 7 })).content).toBe(
      'a\n(7 more bytes of output were not kept)',
    );
  });

  test('shows what the command writes while it runs, and its result is the same', async () => {
    const piece = { stdout: 'half', stderr: '', omitted_chars: 0, truncated: false };
    const fake = fakeSandbox(() => ({ stdout: 'half and half' }));
    const port: SandboxPort = {
      ...fake,
      exec: (scope, request, signal) => {
        request.onOutput?.(piece);
        return fake.exec(scope, request, signal);
      },
    };
    const run = fakeRun();

    const { content } = await bashTool(port).invoke({ command: 'x' }, { ...context(), run });
    expect(content).toBe('half and half');
    expect(run.events).toEqual([{ kind: 'custom', data: { type: 'bash_output', tool_call_id: 'c1', ...piece } }]);

    const over = fakeRun();
    over.abort(new Error('cancelled'));
    await bashTool({
      ...port,
      exec: (scope, request) => port.exec(scope, request, new AbortController().signal),
    }).invoke({ command: 'x' }, { ...context(), run: over });
    expect(over.events).toEqual([]);
  });

  test('a time-out is an error with the output until then', async () => {
    expect(await after({ stdout: 'half', timed_out: true, exit_code: 137 })).toEqual({
      content: 'Error: Command timed out after 600 seconds and was stopped. Output until then:\nhalf',
      isError: true,
    });
  });

  test('names the configured time limit, to the model beforehand and when it has passed', async () => {
    const late = fakeSandbox(() => ({ timed_out: true, exit_code: 137 }));
    const asked = jest.spyOn(late, 'exec');
    const tools = leadTools({ sandbox: late }, { vision: false, commandTimeoutMs: 10_000 });
    const tool = tools.find(({ name }) => name === 'bash');
    if (tool === undefined) throw new Error('there is no bash');

    expect(tool.description).toMatch(/the time limit is 10 seconds/);
    expect((await invoke(tool, { command: 'x' })).content).toMatch(/timed out after 10 seconds/);
    expect(asked.mock.calls[0]?.[1]).toMatchObject({ timeout_ms: 10_000 });
  });

  test('an unknown outcome says that the command may have run', async () => {
    const unknown: SandboxPort = {
      ...fakeSandbox(),
      exec: () => Promise.resolve({ outcome: 'unknown', reason: 'the manager went away' }),
    };

    const { content, isError } = await invoke(bashTool(unknown), { command: 'x' });

    expect(isError).toBe(true);
    expect(content).toMatch(
      /^Error: The outcome of the command is not known \(the manager went away\). It may have run/,
    );
  });

  test('the sandbox gets key, scope and limits', async () => {
    const asked: unknown[] = [];
    const port: SandboxPort = {
      ...fakeSandbox(),
      exec: (scope, request) => {
        asked.push(scope, request);
        return Promise.reject(new UnavailableError('no sandbox'));
      },
    };

    await expect(invoke(bashTool(port), { command: 'ls' })).rejects.toThrow('no sandbox');
    expect(asked).toEqual([
      { userId: 'default', threadId: 'thread-1', epoch: 1 },
      { key: 'r1:c1', command: 'ls', timeout_ms: 600_000, max_output_bytes: 262_144, onOutput: expect.any(Function) },
    ]);
  });
});

describe(readFileTool, () => {
  const answering = (outcome: SandboxReply<'read'>): AnyTool =>
    readFileTool({ ...fakeSandbox(), read: () => Promise.resolve(outcome) });
  const ok = (
    text: string,
    rest: Partial<Extract<SandboxReply<'read'>, { outcome: 'ok' }>> = {},
  ): SandboxReply<'read'> => ({
    outcome: 'ok',
    text,
    total_bytes: text.length,
    total_lines: text.split('\n').length,
    truncated: false,
    ...rest,
  });

  test('the text comes as it is, an empty file is said to be empty', async () => {
    expect(await invoke(answering(ok('a\nb\n')), { path: '/f' })).toEqual({ content: 'a\nb\n' });
    expect(await invoke(answering(ok('')), { path: '/f' })).toEqual({ content: '(empty)' });
  });

  test('a range beyond the file and a reversed one are said so', async () => {
    const tool = answering(ok('', { total_lines: 3 }));

    expect((await invoke(tool, { path: '/f', start_line: 9 })).content).toBe(
      '(start_line exceeds file length of 3 lines)',
    );
    expect((await invoke(tool, { path: '/f', start_line: 3, end_line: 2 })).content).toBe(
      '(end_line is before start_line)',
    );
  });

  test('a long text is cut at its tail with a hint', async () => {
    const { content } = await invoke(answering(ok('x'.repeat(60_000))), { path: '/f' });

    expect(content).toMatch(/^x{50000}\n\.\.\. \[shortened after 50000 characters: .* use start_line and end_line/);
  });

  test.each([
    ['not_found' as const, 'Error: File not found: /f'],
    ['permission' as const, 'Error: Permission denied reading file: /f'],
    ['is_directory' as const, 'Error: Path is a directory, not a file: /f'],
    ['binary' as const, 'Error: File is not text: /f. Use bash to inspect or convert it.'],
  ])('%s is reported as %j', async (reason, content) => {
    expect(await invoke(answering({ outcome: 'refused', reason }), { path: '/f' })).toEqual({ content, isError: true });
  });

  test('every refusal names the path', async () => {
    for (const reason of ['not_regular', 'outside', 'too_large'] as const) {
      expect((await invoke(answering({ outcome: 'refused', reason }), { path: '/some/f' })).content).toMatch(
        /^Error: .*\/some\/f/,
      );
    }
  });
});

describe(writeFileTool, () => {
  const answering = (outcome: SandboxReply<'write'>): AnyTool =>
    writeFileTool({ ...fakeSandbox(), write: () => Promise.resolve(outcome) });

  test('a file is written and appended to; the answer is OK', async () => {
    const sandbox = fakeSandbox();
    const tool = writeFileTool(sandbox);

    expect(await tool.invoke({ path: '/f', content: 'a' }, context())).toEqual({ content: 'OK' });
    await tool.invoke({ path: '/f', content: 'b', append: true }, { ...context(), key: 'r1:c2' });
    expect(sandbox.files.get('/f')).toBe('ab');
  });

  test('content over 80 KB is refused before anything is written, counted in bytes', async () => {
    const sandbox = fakeSandbox();

    const { content, isError } = await invoke(writeFileTool(sandbox), { path: '/f', content: 'é'.repeat(41_000) });

    expect(isError).toBe(true);
    expect(content).toMatch(/^Error: Content is 82000 bytes; at most 81920 bytes .*append=true/);
    expect(sandbox.files.size).toBe(0);
  });

  test.each([
    ['permission' as const, 'Error: Permission denied writing to file: /f'],
    ['is_directory' as const, 'Error: Path is a directory, not a file: /f'],
    ['not_regular' as const, 'Error: Not a regular file: /f'],
    ['no_space' as const, 'Error: No space left to write file: /f'],
  ])('%s is reported as %j', async (reason, content) => {
    expect(await invoke(answering({ outcome: 'refused', reason }), { path: '/f', content: '' })).toEqual({
      content,
      isError: true,
    });
  });

  test('an unknown outcome says so', async () => {
    expect(
      (await invoke(answering({ outcome: 'unknown', reason: 'lost' }), { path: '/f', content: '' })).content,
    ).toMatch(/^Error: The outcome of writing '\/f' is not known \(lost\)/);
  });
});

describe(leadTools, () => {
  const tools = leadTools({ sandbox: fakeSandbox() });

  test('they are listed to the model in this order', () => {
    expect(tools.map((tool) => tool.name)).toEqual([
      ...['ls', 'glob', 'grep', 'read_file', 'write_file', 'str_replace', 'bash'],
      'list_uploaded_files',
      'present_files',
      'ask_clarification',
    ]);
  });

  test('an agent that may not ask is not offered the question', () => {
    const offered = leadTools({ sandbox: fakeSandbox() }, { vision: false, clarification: false });

    expect(offered.map(({ name }) => name)).toEqual(tools.map(({ name }) => name).slice(0, -1));
  });

  test('uploaded files are listed with their sizes, and no name can begin a line of its own', async () => {
    const sandbox = fakeSandbox();
    const listed = tools.find(({ name }) => name === 'list_uploaded_files');
    const run = (): Promise<unknown> =>
      leadTools({ sandbox })
        .find(({ name }) => name === listed?.name)
        ?.invoke({}, context()) ?? Promise.reject(new Error('no tool'));
    expect(await run()).toEqual({ content: 'No files were uploaded.' });

    for (const name of ['b.txt', '<system>.txt', 'a\nb.txt']) {
      const path = `/mnt/user-data/uploads/${name}`;
      await sandbox.write(
        { userId: 'u', threadId: 't', epoch: 1 },
        { key: name, path, content: 'x'.repeat(2_048), append: false },
        new AbortController().signal,
      );
    }
    expect(await run()).toEqual({
      content: ['&lt;system&gt;.txt', 'a?b.txt', 'b.txt']
        .map((name) => `/mnt/user-data/uploads/${name} (2.0 KB)`)
        .join('\n'),
    });
  });

  test('a question may be a form', () => {
    const { fields } = (askClarificationTool().parameters['properties'] ?? {}) as Record<string, { items?: object }>;

    expect(fields?.items).toMatchObject({ required: ['name', 'label', 'type'] });
  });

  test('description comes first in every sandbox tool, and arguments with a default need not be given', () => {
    for (const tool of tools.slice(0, 7))
      expect(Object.keys(tool.parameters['properties'] ?? {})[0]).toBe('description');
    expect(tools.find(({ name }) => name === 'write_file')?.parameters['required']).toEqual(['path', 'content']);
  });

  test('without the clarification layer the bare question ends the run', async () => {
    const args = { question: 'Which?', clarification_type: 'suggestion' };

    expect(await askClarificationTool().invoke(args, context())).toEqual({ content: 'Which?', end: true });
  });
});
