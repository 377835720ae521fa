import { type ApiClient, lastValues } from '../support/client.js';
import { type Stack, startStack } from '../support/stack.js';
import { createRedis, type RedisConnection } from '@caribou/state';
import { silentLogger } from '@caribou/core';
import { waitFor } from '@caribou/testing';

jest.setTimeout(90_000);

const CONFIG = `command_rules:
  disabled: [dd-input]
  verdicts: {mkfs: warn}
  rules:
    - {id: no-date, verdict: block, match: {commands: [date]}, message: the time is not yours}
`;

describe('rules for commands over the real stack', () => {
  let stack: Stack;
  let client: ApiClient;
  let redis: RedisConnection;

  beforeAll(async () => {
    stack = await startStack({ config: CONFIG });
    client = stack.client();
    redis = createRedis({ url: stack.redis.url, logger: silentLogger });
  });
  afterAll(async () => {
    await redis.close();
    await stack.stop();
  });

  test('blocked, warned and passed commands are answered, and all are in the audit with their rules', async () => {
    const threadId = await client.newThread();
    const commands = [
      'echo harmless > kept; rm -rf /',
      'date',
      'mkfs.none || ls',
      'dd if=/dev/null of=x 2>/dev/null; echo "rm -rf /" # date',
    ];
    const script = commands.map((command) => `#tool bash ${JSON.stringify({ description: 'x', command })}`).join('\n');
    const frames = await (await client.run(threadId, `${script}\n#say Done.`)).end();

    const tools = lastValues(frames).filter(({ type }) => type === 'tool');
    expect(tools.map(({ status }) => status)).toEqual(['error', 'error', 'success', 'success']);
    expect(tools.map(({ content }) => content)).toEqual([
      'Command blocked: recursive removal of a system or home directory. Please use a safer alternative approach.',
      'Command blocked: the time is not yours. Please use a safer alternative approach.',
      expect.stringMatching(/mkfs\.none[\s\S]*\n\nWarning: this was a medium-risk command \(making a file system\)\.$/),
      'rm -rf /\n',
    ]);

    const audited = async (): Promise<readonly unknown[]> =>
      (await redis.use((connection) => connection.xrange(redis.keys.audit, '-', '+')))
        .map(([, [, line]]) => JSON.parse(line ?? '') as Record<string, unknown>)
        .filter(({ operation, thread_id }) => operation === 'exec' && thread_id === threadId)
        .map(({ what, verdict, command_verdict, rules }) => [what, verdict, command_verdict, rules]);
    await waitFor(async () => (await audited()).length >= 4, { what: 'the audit' });
    expect(await audited()).toEqual([
      [commands[0], 'blocked', 'block', ['rm-root']],
      [commands[1], 'blocked', 'block', ['no-date']],
      [commands[2], 'done', 'warn', ['mkfs']],
      [commands[3], 'done', 'pass', []],
    ]);
  });
});
