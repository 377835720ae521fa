import { silentLogger } from '@caribou/core';
import { createRedis } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { lastValues, runIdOf } from '../support/client.js';
import { startStack } from '../support/stack.js';

jest.setTimeout(90_000);

const WORKSPACE = '/mnt/user-data/workspace';
const OUTPUTS = '/mnt/user-data/outputs';

/** The tool, its arguments, and the expected audit line. */
type Call = readonly [name: string, args: object, line: object];

const TEXT = 'one\ntwo\n';
const calls: readonly Call[] = [
  [
    'write_file',
    { path: `${OUTPUTS}/a.txt`, content: TEXT },
    { operation: 'write', what: `${OUTPUTS}/a.txt`, verdict: 'ok', bytes: 8 },
  ],
  ['read_file', { path: `${OUTPUTS}/a.txt` }, { operation: 'read', what: `${OUTPUTS}/a.txt`, verdict: 'ok', bytes: 8 }],
  ['ls', { path: OUTPUTS }, { operation: 'list', what: OUTPUTS, verdict: 'ok', bytes: `${OUTPUTS}/a.txt`.length }],
  [
    'glob',
    { path: OUTPUTS, pattern: '*.txt' },
    { operation: 'glob', what: `${OUTPUTS} *.txt`, verdict: 'ok', bytes: `${OUTPUTS}/a.txt`.length },
  ],
  ['grep', { path: OUTPUTS, pattern: 'tw.' }, { operation: 'grep', what: `${OUTPUTS} tw.`, verdict: 'ok', bytes: 3 }],
  [
    'str_replace',
    { path: `${OUTPUTS}/a.txt`, old_str: 'two', new_str: 'three' },
    { operation: 'edit', what: `${OUTPUTS}/a.txt`, verdict: 'ok', bytes: 5 },
  ],
  [
    'bash',
    { command: 'echo ran; exit 3' },
    { operation: 'exec', what: 'echo ran; exit 3', verdict: 'done', bytes: 4, exit_code: 3 },
  ],
  [
    'present_files',
    { filepaths: [`${OUTPUTS}/a.txt`] },
    { operation: 'stat', what: `${OUTPUTS}/a.txt`, verdict: 'ok' },
  ],
  ['read_file', { path: `${WORKSPACE}/none` }, { operation: 'read', what: `${WORKSPACE}/none`, verdict: 'refused' }],
];

test('each operation of a turn has one line in the audit, with user, call, target and outcome', async () => {
  const stack = await startStack();
  const redis = createRedis({ url: stack.redis.url, logger: silentLogger });
  try {
    const client = stack.client();
    const threadId = await client.newThread();
    const script = calls.map(([name, args]) => `#tool ${name} ${JSON.stringify({ description: 'a test', ...args })}`);
    const stream = await client.run(threadId, `${script.join('\n')}\n#say Done.`);
    const callIds = lastValues(await stream.end()).flatMap((message) => message.tool_calls?.map(({ id }) => id) ?? []);
    expect(callIds).toHaveLength(calls.length);

    const lines = async (): Promise<Record<string, unknown>[]> => {
      const entries = await redis.use((connection) => connection.xrange(redis.keys.audit, '-', '+'));
      return entries
        .map(([, [, line]]) => JSON.parse(line ?? '') as Record<string, unknown>)
        .filter((line) => line['thread_id'] === threadId && line['tool_call_id'] !== undefined);
    };
    await waitFor(async () => (await lines()).some(({ tool_call_id }) => tool_call_id === callIds.at(-1)), {
      what: 'the last line',
    });

    const common = { user_id: 'default', run_id: runIdOf(stream), driver: 'bwrap', duration_ms: expect.any(Number) };
    const expected = calls.map(([, , line], index) => ({ ...common, ...line, tool_call_id: callIds[index] }));
    expect(await lines()).toMatchObject(expected);
  } finally {
    await redis.close();
    await stack.stop();
  }
});
