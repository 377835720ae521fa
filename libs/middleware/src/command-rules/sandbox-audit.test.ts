import { DEFAULT_COMMAND_RULES } from '@caribou/contracts';
import type { ToolCallRequest, ToolOutcome } from '@caribou/core';
import { type FakeSandbox, fakeRun, fakeSandbox } from '@caribou/testing';
import type { CommandPolicy } from './command-audit.js';
import { sandboxAudit } from './sandbox-audit.js';

const callOf = (name: string, args: Record<string, unknown>): ToolCallRequest => ({
  call: { name, args, id: 'call_1', type: 'tool_call' },
  tool: undefined,
  state: { messages: [] },
});

describe(sandboxAudit, () => {
  let port: FakeSandbox;
  let reached: ToolCallRequest[];
  beforeEach(() => {
    port = fakeSandbox();
    reached = [];
  });

  /** Hands a call to the layer; what comes of it. */
  async function through(request: ToolCallRequest, policy?: CommandPolicy): Promise<ToolOutcome> {
    const next = (inner: ToolCallRequest): Promise<ToolOutcome> => {
      reached.push(inner);
      return Promise.resolve({ content: 'ran' });
    };
    const outcome = await sandboxAudit(port, policy).wrapToolCall?.(request, next, fakeRun());
    if (outcome === undefined) throw new Error('the layer has no hook');
    return outcome;
  }

  test('answers a blocked command without running it, and puts it on record', async () => {
    expect(await through(callOf('bash', { command: 'cd / && rm -rf /' }))).toEqual({
      content:
        'Command blocked: recursive removal of a system or home directory. Please use a safer alternative approach.',
      isError: true,
    });
    expect(reached).toEqual([]);
    expect(port.blockedCommands).toEqual([{ command: 'cd / && rm -rf /', rules: ['rm-root'] }]);
  });

  test('runs a command of medium risk, with a note behind its result, and hands the verdict on', async () => {
    expect(await through(callOf('bash', { command: 'chmod 777 x; pip install y' }))).toEqual({
      content: 'ran\n\nWarning: this was a medium-risk command (opens files to everybody; installs packages).',
    });
    expect(reached.map(({ audit }) => audit)).toEqual([{ verdict: 'warn', rules: ['chmod-777', 'pip-install'] }]);
  });

  test('a command that passes has its verdict on record and its result unchanged', async () => {
    expect(await through(callOf('bash', { command: 'ls' }))).toEqual({ content: 'ran' });
    expect(reached.map(({ audit }) => audit)).toEqual([{ verdict: 'pass', rules: [] }]);
  });

  test.each([
    ['', 'empty command'],
    ['x'.repeat(10_001), 'command too long'],
    ['ls\0', 'null byte detected'],
  ])('refuses what no shell should get', async (command, reason) => {
    const { content } = await through(callOf('bash', { command }));
    expect(content).toBe(`Command blocked: ${reason}. Please use a safer alternative approach.`);
  });

  test('looks at no other tool, and leaves arguments without a command to the tool', async () => {
    const written = callOf('write_file', { path: 'x.sh', content: 'rm -rf /', command: 'rm -rf /' });
    const none = callOf('bash', { description: 'x' });
    await through(written);
    await through(none);
    expect(reached).toEqual([written, none]);
  });

  test('follows the rules it is given', async () => {
    const message = 'no network tools here';
    const own = { id: 'no-curl', verdict: 'block' as const, match: { commands: ['curl', 'wget*'] }, message };
    const rules = [own, ...DEFAULT_COMMAND_RULES.filter(({ id }) => id !== 'chmod-777')];
    const run = async (command: string): Promise<unknown> =>
      (await through(callOf('bash', { command }), { maxChars: 20, rules })).content;

    expect(await run('ls; wget2 x')).toContain(message);
    expect(await run('chmod 777 x')).toBe('ran');
    expect(await run('echo '.padEnd(21, 'x'))).toContain('command too long');
  });
});
