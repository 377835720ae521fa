import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestService, transcriptFaults, waitFor } from '@caribou/testing';
import type { Message } from '@caribou/contracts';
import { type ApiClient, lastValues, runIdOf } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(120_000);

/** Each manager is a machine: a home and a run directory of its own, and an object store that all of them reach. */
let objects: string;
let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  objects = mkdtempSync(join(tmpdir(), 'caribou-objects-'));
  stack = await startStack({
    managers: 0,
    clocks: ['manager_drain_ms: 120000'],
    config: `files: { store: { folder: { path: ${objects}, durable: false } } }\n`,
  });
  client = stack.client();
});

afterAll(async () => {
  await stack.stop();
  rmSync(objects, { recursive: true, force: true });
});

interface Manager {
  readonly service: TestService;
  readonly home: string;
}

async function startManager(name: string): Promise<Manager> {
  const home = join(stack.homeDir, name);
  const env = { CARIBOU_HOME: home, CARIBOU_RUN_DIR: `${home}-run` };
  return { service: await stack.start('sandbox-manager', env), home };
}

const tool = (command: string): string => `#tool bash ${JSON.stringify({ description: 'a test', command })}`;
const workspaceFile = ({ home }: Manager, threadId: string, name: string): string =>
  join(home, 'users/default/threads', threadId, 'user-data/workspace', name);
const linesAt = (manager: Manager, threadId: string, name: string): readonly string[] => {
  const file = workspaceFile(manager, threadId, name);
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
};
const WAITING = 'cd /mnt/user-data/workspace; echo first >> ledger; until [ -e go ]; do sleep 0.05; done; echo went on';
const NEXT = 'cd /mnt/user-data/workspace; echo next >> ledger; cat ledger';

/** Runs a turn with the commands; statuses and contents of their results. */
async function turn(threadId: string, ...commands: readonly string[]) {
  const stream = await client.run(threadId, [nonce(), ...commands.map(tool), '#say Done.'].join('\n'));
  const results = lastValues(await stream.end(40_000)).filter(({ type }) => type === 'tool');
  return results.slice(-commands.length).map(({ status, content }) => [status, content]);
}

test('SIGTERM of a manager in a long command: its run continues with the next manager, and other threads do at once', async () => {
  const leaving = await startManager('one');
  const idle = await client.newThread();
  expect(await turn(idle, 'echo kept > /mnt/user-data/workspace/note; echo fine')).toEqual([['success', 'fine\n']]);
  const busy = await client.newThread();
  const stream = await client.run(busy, `${nonce()}\n${tool(WAITING)}\n${tool(NEXT)}\n#say Done.`);
  await waitFor(() => linesAt(leaving, busy, 'ledger').length === 1, { what: 'the command' });
  const next = await startManager('two');

  const exit = leaving.service.terminate(60_000);
  await waitFor(async () => !(await leaving.service.ready()).ok, { what: 'the manager not to be ready' });
  expect((await leaving.service.ready()).body).toMatchObject({ missing: { stopping: expect.any(String) } });

  // What is idle goes to the next manager, with its files, while the command runs.
  expect(await turn(idle, 'cat /mnt/user-data/workspace/note')).toEqual([['success', 'kept\n']]);
  expect(await turn(await client.newThread(), 'echo new')).toEqual([['success', 'new\n']]);
  expect(leaving.service.running).toBe(true);

  writeFileSync(workspaceFile(leaving, busy, 'go'), '');
  const frames = await stream.end(60_000);

  expect(await exit).toEqual({ code: 0, signal: null });
  const results = lastValues(frames).filter(({ type }) => type === 'tool');
  expect(results.map(({ status, content }) => [status, content])).toEqual([
    ['success', 'went on\n'],
    ['success', 'first\nnext\n'],
  ]);
  expect(linesAt(next, busy, 'ledger')).toEqual(['first', 'next']);
  expect(linesAt(leaving, busy, 'ledger')).toEqual(['first']);
  const path = `/threads/${busy}`;
  expect((await client.call('GET', `${path}/runs/${runIdOf(stream)}`)).body).toMatchObject({ status: 'success' });
  const { values } = (await client.call<{ values: { messages: Message[] } }>('GET', `${path}/state`)).body;
  expect(transcriptFaults(values.messages)).toEqual([]);
  expect(leaving.service.output()).not.toMatch(/"level":"error"/);
});
