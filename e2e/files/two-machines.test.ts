import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestService, waitFor } from '@caribou/testing';
import { lastValues } from '../support/client.js';
import { clientOf, nonce, nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(300_000);

/** A gateway and a sandbox-manager that share no disk with those of other machines. */
interface Machine {
  readonly name: string;
  readonly gateway: TestService;
  manager: TestService;
}

let objects: string;
let stack: Stack;
let machines: readonly Machine[];

const envOf = (name: string): Readonly<Record<string, string>> => ({
  CARIBOU_HOME: join(stack.homeDir, name),
  CARIBOU_RUN_DIR: join(stack.homeDir, `${name}-run`),
});

async function startMachine(name: string): Promise<Machine> {
  const [gateway, manager] = await Promise.all([
    stack.start('gateway', envOf(name)),
    stack.start('sandbox-manager', envOf(name)),
  ]);
  return { name, gateway, manager };
}

beforeAll(async () => {
  objects = await mkdtemp(join(tmpdir(), 'caribou-objects-'));
  const config = `files:\n  store: {folder: {path: ${objects}, durable: false}}\n`;
  stack = await startStack({ gateways: 0, managers: 0, config });
  machines = await Promise.all(['one', 'two'].map(startMachine));
  const services = machines.flatMap(({ gateway, manager }) => [gateway, manager]);
  await waitFor(async () => (await Promise.all(services.map((one) => one.ready()))).every(({ ok }) => ok), {
    what: 'both machines',
    timeoutMs: 60_000,
  });
});
afterAll(async () => {
  await stack.stop();
  await rm(objects, { recursive: true, force: true });
});

const apiOf = ({ gateway }: Machine): string => clientOf(gateway).base.replace('/langgraph', '');
const machine = (index: number): Machine => nth(machines, index % machines.length);

async function upload(at: Machine, threadId: string, files: Readonly<Record<string, Uint8Array>>): Promise<void> {
  const form = new FormData();
  for (const [name, content] of Object.entries(files)) form.append('files', new Blob([new Uint8Array(content)]), name);
  const { status } = await fetch(`${apiOf(at)}/threads/${threadId}/uploads`, { method: 'POST', body: form });
  expect(status).toBe(200);
}

async function artifact(at: Machine, threadId: string, path: string): Promise<Buffer> {
  const response = await fetch(`${apiOf(at)}/threads/${threadId}/artifacts/mnt/user-data/${path}`);
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return Buffer.from(await response.arrayBuffer());
}

/** Runs a command in a turn and returns what the model is shown of it. */
async function command(
  at: Machine,
  threadId: string,
  text: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const call = `#tool bash ${JSON.stringify({ description: 'a test', command: text })}`;
  const stream = await clientOf(at.gateway).run(threadId, `${nonce()}\n${call}\n#say Done.`, more);
  const result = lastValues(await stream.end(120_000)).findLast(({ type }) => type === 'tool');
  return String(result?.content);
}

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** Kills the manager of a machine and starts another one there when the next turn has been answered without it. */
async function killManager(at: Machine): Promise<() => Promise<void>> {
  await at.manager.kill9();
  return async () => {
    at.manager = await stack.start('sandbox-manager', envOf(at.name));
    await waitFor(async () => (await at.manager.ready()).ok, { what: 'the new manager', timeoutMs: 60_000 });
  };
}

test('a file uploaded on one machine is read by commands on any, and what they make is served by all', async () => {
  const threadId = crypto.randomUUID();
  const large = randomBytes(3_000_000);
  await upload(machine(0), threadId, { 'facts.txt': Buffer.from('cross rivers'), 'large.bin': large });
  await clientOf(machine(1).gateway).call('POST', '/threads', { thread_id: threadId });
  const first = await command(
    machine(1),
    threadId,
    'cd /mnt/user-data && sha256sum uploads/large.bin && rev uploads/facts.txt > outputs/report.txt && cp uploads/large.bin workspace/',
  );
  expect(first).toContain(sha256(large));

  for (let round = 0; round < 4; round += 1) {
    const restart = await killManager(machine(round));
    const seen = await command(
      machine(round + 1),
      threadId,
      `cd /mnt/user-data && sha256sum workspace/large.bin && cat workspace/rounds; echo ${round} >> workspace/rounds; echo made ${round} > outputs/made-${round}`,
    );
    expect(seen).toContain(sha256(large));
    for (let earlier = 0; earlier < round; earlier += 1) expect(seen).toMatch(new RegExp(`^${earlier}$`, 'm'));
    for (const at of machines) {
      expect((await artifact(at, threadId, `outputs/made-${round}`)).toString()).toBe(`made ${round}\n`);
      expect((await artifact(at, threadId, 'outputs/report.txt')).toString()).toBe('srevir ssorc');
    }
    await restart();
  }
  // Gateways have no files of threads; only machines with a sandbox have copies.
  const used = machines.filter(({ name }) => existsSync(join(stack.homeDir, name, 'users/default/threads', threadId)));
  expect(used.length).toBeGreaterThan(0);
});

test('a manager that is killed in the middle of commands loses no file of a result that was given', async () => {
  const client = clientOf(machine(0).gateway);
  const threadIds = await Promise.all([1, 2, 3, 4].map(() => client.newThread()));
  const write = (word: string) =>
    `mkdir -p d && echo ${word} > d/${word} && cp d/${word} ../outputs/${word} && sleep 0.2`;
  const told = new Map<string, string[]>(threadIds.map((id) => [id, []]));
  const one = async (threadId: string, word: string): Promise<void> => {
    const result = await command(machine(word.length), threadId, write(word));
    // Of a command whose manager died nothing is promised.
    if (result === '(no output)') told.get(threadId)?.push(word);
    else expect(result).toContain('is not known');
  };
  for (let round = 0; round < 3; round += 1) {
    const turns = threadIds.map((id, index) => one(id, `w${round}-${'x'.repeat(index)}`));
    await Promise.race(turns);
    const restart = await killManager(machine(round));
    await Promise.all(turns);
    await restart();
  }
  for (const [threadId, words] of told) {
    for (const at of machines) {
      for (const word of words) {
        expect((await artifact(at, threadId, `outputs/${word}`)).toString()).toBe(`${word}\n`);
      }
    }
    const listed = await command(machine(1), threadId, 'cat d/*');
    for (const word of words) expect(listed).toContain(word);
  }
  // One of each round ended before the kill; how many others did depends on the machine.
  expect([...told.values()].flat().length).toBeGreaterThanOrEqual(3);
});

test('a turn that goes back to an earlier point finds the files of that point', async () => {
  const client = clientOf(machine(0).gateway);
  const threadId = await client.newThread();
  await command(machine(0), threadId, 'echo first > state; echo kept > kept');
  const { body: state } = await client.call<{ checkpoint: { checkpoint_id: string } }>(
    'GET',
    `/threads/${threadId}/state`,
  );
  await command(machine(1), threadId, 'echo second > state; rm kept; echo new > new');
  expect(await command(machine(0), threadId, 'cat state; ls')).toMatch(/second[\s\S]*new[\s\S]*state/);

  const at = { checkpoint_id: state.checkpoint.checkpoint_id };
  const back = await command(machine(1), threadId, 'cat state kept; ls', at);
  expect(back).toMatch(/first\s+kept/);
  expect(back).not.toContain('new');
});

test('a thread stays with the machine that has its files when its manager is replaced there', async () => {
  const threadId = await clientOf(machine(0).gateway).newThread();
  await command(machine(0), threadId, 'echo 0 > rounds');
  const holders = (): Machine[] =>
    machines.filter(({ name }) => existsSync(join(stack.homeDir, name, 'users/default/threads', threadId)));
  const [holder] = holders();
  if (holder === undefined) throw new Error('no machine has the files');
  for (let round = 1; round <= 3; round += 1) {
    const restart = await killManager(holder);
    await restart();
    expect(await command(machine(round), threadId, `cat rounds; echo ${round} >> rounds`)).toContain(`${round - 1}`);
    expect(holders()).toEqual([holder]);
  }
});
