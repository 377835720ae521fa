import { FencedError, type SandboxReply, UnavailableError } from '@caribou/contracts';
import type { SandboxPort, ToolCallRequest, ToolOutcome } from '@caribou/core';
import { type FakeSandbox, fakeRun, fakeSandbox } from '@caribou/testing';
import { toolOutputBudget } from './tool-output-budget.js';
import type { ToolOutputLimits } from './tool-output-limits.js';

const limits: ToolOutputLimits = {
  externalizeMinChars: 1_000,
  previewHeadChars: 20,
  previewTailChars: 10,
  fallbackMaxChars: 2_000,
  fallbackHeadChars: 40,
  fallbackTailChars: 30,
  exemptTools: ['read_file'],
};
const binding = { sandbox_id: 'box-1', driver: 'bwrap' };
const FOLDER = '/mnt/user-data/outputs/.tool-results';

interface Asked {
  readonly name?: string;
  readonly id?: string;
  readonly run?: ReturnType<typeof fakeRun>;
}

const requestOf = (name: string, id: string): ToolCallRequest => ({
  call: { name, args: {}, id, type: 'tool_call' },
  tool: undefined,
  state: { messages: [] },
});

async function through(
  sandbox: SandboxPort,
  outcome: ToolOutcome,
  { name = 'web_fetch', id = 'call_1', run = fakeRun() }: Asked = {},
): Promise<ToolOutcome> {
  const answered = await toolOutputBudget({ sandbox }, limits).wrapToolCall?.(
    requestOf(name, id),
    () => Promise.resolve(outcome),
    run,
  );
  if (answered === undefined) throw new Error('the layer has no hook');
  return answered;
}

const writing = (write: () => Promise<SandboxReply<'write'>>): SandboxPort => ({ ...fakeSandbox(), write });
const fileOf = ({ files }: FakeSandbox): readonly [string, string] => [...files][0] ?? ['', ''];
const long = `Error: begin\n${'line of text\n'.repeat(100)}the end\n`;

describe(toolOutputBudget, () => {
  test('a large result goes into a file; the message has its size, beginning, end and path', async () => {
    const sandbox = fakeSandbox();
    const run = fakeRun();

    const outcome = await through(sandbox, { content: long, isError: true, additionalKwargs: { a: 1 } }, { run });

    const [path, text] = fileOf(sandbox);
    expect(text).toBe(long);
    expect(path).toMatch(new RegExp(`^${FOLDER}/web_fetch-call_1-[0-9a-f]{12}\\.txt$`));
    expect(outcome).toEqual({
      content:
        `Error: begin\nline of\n\n[1291 of 1321 characters (102 lines) are left out here. The whole result of web_fetch is in '` +
        `${path}'. Read what you need of it with read_file, giving start_line and end_line, or search it with grep.]` +
        '\n\nt\nthe end\n',
      isError: true,
      additionalKwargs: { a: 1, tool_output: { chars: 1321, path } },
      update: { sandbox: binding },
    });
    expect(run.decisions).toEqual(['tool-output-budget: filed']);
  });

  test('from the limit on, and not before', async () => {
    const sandbox = fakeSandbox();
    const below = { content: 'x'.repeat(999) };

    expect(await through(sandbox, below)).toBe(below);
    expect(sandbox.files.size).toBe(0);
    expect((await through(sandbox, { content: 'x'.repeat(1_000) })).content).toContain('1000 characters (1 lines)');
  });

  test('without options the sizes are those of the field', async () => {
    const middleware = toolOutputBudget({ sandbox: fakeSandbox() });
    const answer = (chars: number) =>
      middleware.wrapToolCall?.(
        requestOf('bash', 'c1'),
        () => Promise.resolve({ content: 'x'.repeat(chars) }),
        fakeRun(),
      );

    expect((await answer(11_999))?.content).toHaveLength(11_999);
    expect((await answer(12_000))?.content).toMatch(/^x{2000}\n\n\[9000 of 12000 [^]*\]\n\nx{1000}$/);
  });

  test('results of exempt tools and questions to the user are not cut', async () => {
    const sandbox = fakeSandbox();
    const question = { content: long, end: true };
    const read = { content: long };

    expect(await through(sandbox, question)).toBe(question);
    expect(await through(sandbox, read, { name: 'read_file' })).toBe(read);
    expect(sandbox.files.size).toBe(0);
  });

  test('text of blocks is filed joined; images stay', async () => {
    const sandbox = fakeSandbox();
    const image = { type: 'image_url', image_url: { url: 'data:,' } };

    const { content } = await through(sandbox, { content: [{ type: 'text', text: long }, image, 'more'] });

    expect(fileOf(sandbox)[1]).toBe(`${long}more`);
    expect(content).toEqual([{ type: 'text', text: expect.stringContaining(FOLDER) }, image]);
  });

  test('a takeover with the same result writes once; with another, the file is the newer one', async () => {
    const keys: string[] = [];
    const sandbox = fakeSandbox();
    const port: SandboxPort = {
      ...sandbox,
      write: (scope, request, signal) => {
        keys.push(request.key);
        return sandbox.write(scope, request, signal);
      },
    };
    const first = await through(port, { content: long });
    const second = await through(port, { content: long });
    await through(port, { content: `${long}other` });

    expect(second).toEqual(first);
    expect(keys[0]).toMatch(/^11111111-1111-4111-8111-111111111111:call_1:result:[0-9a-f]{12}\.0$/);
    expect([keys[1] === keys[0], keys[2] === keys[0]]).toEqual([true, false]);
    expect([...sandbox.files.values()]).toEqual([`${long}other`]);
  });

  test('each call has a file of its own, whatever it is named', async () => {
    const sandbox = fakeSandbox();
    for (const id of ['a/b', 'a:b', '../../x', 'é'.repeat(300)])
      await through(sandbox, { content: long }, { id, name: '../sh' });
    await through(sandbox, { content: long }, { id: 'a/b', name: '../sh', run: fakeRun({ runId: 'r2' }) });

    expect(sandbox.files.size).toBe(5);
    for (const path of sandbox.files.keys()) expect(path).toMatch(new RegExp(`^${FOLDER}/[\\w-]{1,100}\\.txt$`));
  });

  test('a result over one write is put together from parts, no character cut in two', async () => {
    const sandbox = fakeSandbox();
    const text = `x${'😀'.repeat(300_000)}`;

    const { content } = await through(sandbox, { content: text });

    expect(fileOf(sandbox)[1]).toBe(text);
    expect(content).toContain('Its lines are long: take parts out with bash');
  });

  test('of one over all parts the message says how much the file has, and zero characters are left out', async () => {
    const sandbox = fakeSandbox();

    const { content } = await through(sandbox, { content: `\0\0${'y'.repeat(9_000_000)}` });

    expect(fileOf(sandbox)[1]).toBe('y'.repeat(8 * 1024 * 1024));
    expect(content).toContain('The first 8388608 characters of the result is in');
    expect((await through(fakeSandbox(), { content: '\0'.repeat(3_000) })).content).toContain('it holds no text');
  });

  test.each<[string, () => Promise<SandboxReply<'write'>>, string]>([
    ['refused', () => Promise.resolve({ outcome: 'refused', reason: 'no_space' }), 'no space'],
    [
      'unknown',
      () => Promise.resolve({ outcome: 'unknown', reason: 'the manager went away' }),
      'the manager went away',
    ],
    ['impossible', () => Promise.reject(new UnavailableError('none')), 'no sandbox answered'],
  ])('when writing is %s a very large result is cut and says so, a large one stays', async (_, write, reason) => {
    const run = fakeRun();
    const large = { content: 'x'.repeat(1_999) };

    const { content, additionalKwargs } = await through(writing(write), { content: 'x'.repeat(2_000) }, { run });

    expect(content).toBe(
      `${'x'.repeat(40)}\n\n[1930 of 2000 characters (1 lines) are left out here. They could not be kept in a file (${reason}) ` +
        `and are lost: if you need them, make the call again for a smaller part.]\n\n${'x'.repeat(30)}`,
    );
    expect(additionalKwargs).toEqual({ tool_output: { chars: 2000 } });
    expect(run.decisions).toEqual(['tool-output-budget: cut']);
    expect(await through(writing(write), large)).toEqual(large);
  });

  test('a lost or cancelled run ends, and a fault of the code is not hidden', async () => {
    await expect(
      through(
        writing(() => Promise.reject(new FencedError('lost'))),
        { content: long },
      ),
    ).rejects.toThrow('lost');
    await expect(
      through(
        writing(() => Promise.reject(new TypeError('bug'))),
        { content: long },
      ),
    ).rejects.toThrow('bug');
    const run = fakeRun();
    const cancels = writing(() => {
      run.abort(new Error('cancelled'));
      return Promise.reject(new UnavailableError('away'));
    });
    await expect(through(cancels, { content: long }, { run })).rejects.toThrow('cancelled');
  });
});
