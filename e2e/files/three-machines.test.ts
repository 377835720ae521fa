import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { docxParts, type S3TestServer, startS3rver, waitFor, wordParagraph, zipFile } from '@caribou/testing';
import { type ApiClient, lastValues } from '../support/client.js';
import { type Machine, machineFiles, type Machines, openMachines } from '../support/machines.js';
import { canConnect } from '../support/networks.js';
import type { DeathPoint } from '../support/service-deaths.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { type Attempt, KilledOperations } from './killed-operations.js';

/**
 * Three machines that share NATS, Redis and a bucket, each with its own home, run directory and id. As root each is in a network
 * namespace of its own, from which it reaches nothing else; otherwise they share the network of the test.
 *
 * Services are killed at one of their requests to Redis and the object store in each operation; with CARIBOU_FILE_KILLS=full each
 * operation is done again for every request that it makes, which is lost, late or answered in vain.
 */

const isFull = process.env['CARIBOU_FILE_KILLS'] === 'full';
const MOST_REQUESTS = 60;
/** The first is within what a call waits for, the other is stored after the answer. */
const [SMALL, LARGE] = [1_000, 9_000_000];
/** A file of this size shares no object of the store with others. */
const OWN_OBJECT = 70_000;

jest.setTimeout(isFull ? 3_600_000 : 300_000);

let s3: S3TestServer;
let stack: Stack;
let machines: Machines;
/** One has a gateway and the runner, two a gateway and a sandbox-manager, three a gateway and later a sandbox-manager. */
let one: Machine;
let two: Machine;
let three: Machine;
/** The thread of all tests: what one makes on a machine is found by the next on another. */
let threadId: string;

beforeAll(async () => {
  s3 = await startS3rver();
  const config = `${machineFiles(s3)}uploads: { convert_wait_ms: 0 }\n`;
  stack = await startStack({ gateways: 0, runners: 0, managers: 0, config });
  machines = await openMachines(stack, s3, ['one', 'two', 'three']);
  [one, two, three] = [nth(machines.all, 0), nth(machines.all, 1), nth(machines.all, 2)];
  await Promise.all([
    ...machines.all.map((machine) => machine.start('gateway')),
    one.start('agent-runner'),
    two.start('sandbox-manager'),
  ]);
  await waitFor(async () => (await Promise.all(machines.all.map(isReady))).every(Boolean), {
    what: 'the gateways',
    timeoutMs: 60_000,
  });
  threadId = await two.client.newThread();
});
afterAll(async () => {
  await stack.stop();
  await machines.close();
  await s3.server.stop();
});

const isReady = async (machine: Machine): Promise<boolean> => (await machine.service('gateway').ready()).ok;
const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');
const hasCopy = ({ home }: Machine): boolean => existsSync(join(home, 'users/default/threads', threadId));
const apiOf = ({ api }: Machine): string => `${api}/threads/${threadId}`;

async function upload(at: Machine, files: Readonly<Record<string, Uint8Array>>) {
  const form = new FormData();
  for (const [name, content] of Object.entries(files)) form.append('files', new Blob([new Uint8Array(content)]), name);
  const answer = await fetch(`${apiOf(at)}/uploads`, { method: 'POST', body: form });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { readonly files: readonly Uploaded[] };
}

interface Uploaded {
  readonly filename: string;
  readonly conversion?: string;
  readonly markdown_file?: string;
}

const artifact = (at: Machine, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${apiOf(at)}/artifacts/mnt/user-data/${path}`, { headers });

/** The bytes of a file, which must have the checksum that the gateway names. */
async function contentOf(at: Machine, path: string): Promise<Buffer> {
  const answer = await artifact(at, path);
  expect([at.name, path, answer.status]).toEqual([at.name, path, 200]);
  const content = Buffer.from(await answer.arrayBuffer());
  expect(answer.headers.get('etag')).toBe(`"${sha256(content)}"`);
  return content;
}

/** Runs a command in a turn that is asked for at a machine; what the model is shown of it. */
async function command(at: { readonly client: ApiClient }, text: string): Promise<string> {
  const call = `#tool bash ${JSON.stringify({ description: 'a test', command: text })}`;
  const stream = await at.client.run(threadId, `${nonce()}\n${call}\n#say Done.`);
  return String(lastValues(await stream.end(120_000)).findLast(({ type }) => type === 'tool')?.content);
}

const large = randomBytes(3_000_000);

test('an upload to one machine is read by a command on the second, whose files the third serves with ranges and ETags', async () => {
  await upload(one, { 'facts.txt': Buffer.from('cross rivers'), 'large.bin': large });
  const seen = await command(
    three,
    'cd /mnt/user-data && sha256sum uploads/large.bin && rev uploads/facts.txt > outputs/report.txt && cp uploads/large.bin outputs/',
  );
  expect(seen).toContain(sha256(large));
  for (const machine of machines.all) {
    expect((await contentOf(machine, 'outputs/report.txt')).toString()).toBe('srevir ssorc');
    expect(sha256(await contentOf(machine, 'outputs/large.bin'))).toBe(sha256(large));
  }
  const part = await artifact(three, 'outputs/large.bin', { range: 'bytes=1000000-1999999' });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 1000000-1999999/3000000']);
  expect(Buffer.from(await part.arrayBuffer()).equals(large.subarray(1_000_000, 2_000_000))).toBe(true);
  const known = await artifact(three, 'outputs/large.bin', { 'if-none-match': `"${sha256(large)}"` });
  expect(known.status).toBe(304);
  expect(machines.all.map(hasCopy)).toEqual([false, true, false]);
});

test('machines reach the shared servers and nothing of each other', async () => {
  if (machines.sharedBecause !== undefined) {
    console.warn(`the machines share the network of the test: ${machines.sharedBecause}`);
    return;
  }
  for (const { network, servers } of machines.all) {
    if (network === undefined) throw new Error('a machine has no network');
    expect(await canConnect(network, network.hostAddress, servers.nats.port)).toBe(true);
    for (const other of machines.all.filter((each) => each.network !== network)) {
      const { host, healthPort } = other.service('gateway');
      expect(await canConnect(network, host, healthPort)).toBe(false);
      expect(await canConnect(network, '127.0.0.1', healthPort)).toBe(false);
    }
  }
});

test('a skill that is installed through one machine is used by a command on the second and listed by the third', async () => {
  const skill = '---\nname: ink\ndescription: Does ink.\n---\n# How\n';
  await upload(one, { 'ink.skill': await zipFile({ 'SKILL.md': skill, 'refs/a.txt': 'use ink' }) });
  const body = { thread_id: threadId, path: '/mnt/user-data/uploads/ink.skill' };
  expect((await one.client.call('POST', '/skills/install', body)).status).toBe(200);
  for (const machine of machines.all) {
    const { skills } = (await machine.client.call<{ skills: readonly { name: string }[] }>('GET', '/skills')).body;
    expect(skills.map(({ name }) => name)).toContain('ink');
  }
  expect(await command(three, 'cat /mnt/skills/custom/ink/refs/a.txt')).toContain('use ink');
});

test('a conversion whose gateway is killed in its midst is taken over by another machine, and its Markdown is everywhere', async () => {
  const isRead = (seen: Buffer): boolean => /GET \S+\/packs\//.test(seen.toString('latin1'));
  const reading = one.servers.s3.hold('reply', { bytes: isRead, in: 'request' });
  const document = await zipFile(docxParts(wordParagraph('cross rivers')));
  const { files } = await upload(one, { 'plan.docx': document });
  expect(files).toMatchObject([{ filename: 'plan.docx', conversion: 'pending' }]);
  await reading.reached;
  await one.service('gateway').kill9();
  reading.release();

  const listed = async (): Promise<Uploaded | undefined> => {
    const answer = (await (await fetch(`${apiOf(three)}/uploads/list`)).json()) as { files: readonly Uploaded[] };
    return answer.files.find(({ filename }) => filename === 'plan.docx');
  };
  expect(await listed()).toMatchObject({ conversion: 'pending' });
  await waitFor(async () => (await listed())?.conversion === 'done', { what: 'the conversion' });
  expect(await listed()).toMatchObject({ markdown_file: 'plan.md' });
  await one.start('gateway');
  for (const machine of machines.all) {
    expect((await contentOf(machine, 'uploads/plan.md')).toString()).toContain('cross rivers');
    expect((await contentOf(machine, 'uploads/plan.docx')).equals(document)).toBe(true);
  }
  expect(await command(two, 'cat /mnt/user-data/uploads/plan.md')).toContain('cross rivers');
});

const kills = (): KilledOperations => new KilledOperations(two, one);

test('a gateway or manager that is killed in the midst of an operation leaves nothing half and loses nothing of a result', async () => {
  const operations = kills();
  const points: readonly (readonly [Attempt, DeathPoint])[] = [
    [await operations.change('an upload'), { request: 6, when: 'late' }],
    [await operations.change('a deletion'), { request: 5, when: 'after' }],
    [await operations.change('a file of a checkpoint'), { request: 7, when: 'before' }],
    [operations.install, { request: 6, when: 'after' }],
    [operations.exec(SMALL), { request: 16, when: 'after' }],
    [operations.exec(LARGE), { request: 18, when: 'after' }],
    [operations.write(SMALL), { request: 14, when: 'after' }],
    [operations.write(OWN_OBJECT), { request: 13, when: 'late' }],
  ];
  for (const [attempt, point] of points) expect([point, await attempt(point)]).toEqual([point, true]);
});

if (isFull) {
  const all: Readonly<Record<string, () => Promise<Attempt>>> = {
    'an upload': () => kills().change('an upload'),
    'a deletion': () => kills().change('a deletion'),
    'a file of a checkpoint': () => kills().change('a file of a checkpoint'),
    'an install of a skill': () => Promise.resolve(kills().install),
    'a command': () => Promise.resolve(kills().exec(SMALL)),
    'a command with a large file': () => Promise.resolve(kills().exec(LARGE)),
    'a file written by a tool': () => Promise.resolve(kills().write(OWN_OBJECT)),
  };
  test.each(Object.keys(all))('the same, at every request: %s', async (name) => {
    const attempt = await all[name]?.();
    for (const when of ['before', 'late', 'after'] as const) {
      let request = 1;
      while (await attempt?.({ request, when })) request += 1;
      expect(request).toBeGreaterThan(3);
      expect(request).toBeLessThan(MOST_REQUESTS);
    }
  });
}

test('another machine continues with all files and skills when the manager that had them is killed', async () => {
  await three.start('sandbox-manager');
  await two.service('sandbox-manager').kill9();
  const seen = await command(
    one,
    'cd /mnt/user-data && sha256sum outputs/large.bin && cat outputs/report.txt uploads/plan.md /mnt/skills/custom/ink/refs/a.txt && echo third > outputs/third',
  );
  for (const text of [sha256(large), 'srevir ssorc', 'cross rivers', 'use ink']) expect(seen).toContain(text);
  expect(hasCopy(three)).toBe(true);
  for (const machine of machines.all) expect((await contentOf(machine, 'outputs/third')).toString()).toBe('third\n');
});

test('a large file of a result is readable everywhere although the manager is killed before it was stored', async () => {
  const isStored = (seen: Buffer): boolean => /PUT \S+\/blobs\//.test(seen.toString('latin1'));
  const storing = three.servers.s3.hold('request', { bytes: isStored });
  const seen = await command(
    two,
    'cd /mnt/user-data/outputs && head -c 9000000 /dev/urandom > huge && sha256sum huge && cp huge ../workspace/',
  );
  const [checksum] = /[0-9a-f]{64}/.exec(seen) ?? [];
  await storing.reached;
  await three.service('sandbox-manager').kill9();
  storing.release();
  await three.start('sandbox-manager');
  for (const machine of machines.all) {
    await waitFor(async () => (await artifact(machine, 'outputs/huge')).ok, { what: 'the file' });
    expect(sha256(await contentOf(machine, 'outputs/huge'))).toBe(checksum);
  }
});
