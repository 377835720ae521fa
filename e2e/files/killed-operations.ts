import { createHash, randomBytes } from 'node:crypto';
import { waitFor, zipFile } from '@caribou/testing';
import { lastValues } from '../support/client.js';
import type { Machine } from '../support/machines.js';
import { type DeathPoint, killAt } from '../support/service-deaths.js';
import { nonce } from '../support/stack.js';

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

async function send(at: Machine, method: string, path: string, body?: FormData | object): Promise<number> {
  const isForm = body instanceof FormData;
  const response = await fetch(`${at.api}${path}`, {
    method,
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    ...(isForm || body === undefined ? {} : { headers: { 'content-type': 'application/json' } }),
    signal: AbortSignal.timeout(60_000),
  });
  await response.arrayBuffer();
  return response.status;
}

function formOf(files: Readonly<Record<string, Uint8Array | string>>): FormData {
  const form = new FormData();
  for (const [name, content] of Object.entries(files))
    form.append('files', new Blob([typeof content === 'string' ? content : new Uint8Array(content)]), name);
  return form;
}

interface Scene {
  readonly threadId: string;
  readonly checkpointId: string;
}

interface Listed {
  readonly path: string;
  readonly sha256: string;
}

/** The checksums of all files at a gateway, each compared with its bytes. */
async function served({ threadId }: Scene, at: Machine): Promise<Readonly<Record<string, string>>> {
  const answer = await fetch(`${at.api}/threads/${threadId}/files?limit=100`);
  expect(answer.status).toBe(200);
  const { files } = (await answer.json()) as { readonly files: readonly Listed[] };
  const found: Record<string, string> = {};
  for (const { path, sha256: checksum } of files) {
    const content = await fetch(`${at.api}/threads/${threadId}/artifacts${path}`);
    expect([path, sha256(Buffer.from(await content.arrayBuffer()))]).toEqual([path, checksum]);
    found[path.replace('/mnt/user-data/', '')] = checksum;
  }
  return found;
}

const LARGE = randomBytes(200_000);

/** A thread with uploads, and a checkpoint at which one of them was another. */
async function newScene(other: Machine): Promise<Scene> {
  const threadId = await other.client.newThread();
  const path = `/threads/${threadId}`;
  expect(await send(other, 'POST', `${path}/uploads`, formOf({ text: 'old', large: LARGE }))).toBe(200);
  const values = { messages: [{ type: 'human', content: 'one' }] };
  const { status, body } = await other.client.call<{ checkpoint: { checkpoint_id: string } }>('POST', `${path}/state`, {
    values,
  });
  expect(status).toBe(200);
  expect(await send(other, 'POST', `${path}/uploads`, formOf({ text: 'newer' }))).toBe(200);
  return { threadId, checkpointId: body.checkpoint.checkpoint_id };
}

interface Change {
  readonly act: (at: Machine, scene: Scene) => Promise<number>;
  /** Statuses of a repetition after an attempt that was not answered but took effect. */
  readonly repeated?: readonly number[];
}

export type ChangeName = 'an upload' | 'a deletion' | 'a file of a checkpoint';

const CHANGES: Readonly<Record<ChangeName, Change>> = {
  'an upload': {
    act: (at, { threadId }) =>
      send(
        at,
        'POST',
        `/threads/${threadId}/uploads`,
        formOf({ text: 'changed', more: Buffer.concat([LARGE, LARGE]) }),
      ),
  },
  'a deletion': {
    act: (at, { threadId }) => send(at, 'DELETE', `/threads/${threadId}/uploads/text`),
    repeated: [404],
  },
  'a file of a checkpoint': {
    act: (at, { threadId, checkpointId }) =>
      send(at, 'POST', `/threads/${threadId}/files/restore`, {
        checkpoint_id: checkpointId,
        path: '/mnt/user-data/uploads/text',
      }),
  },
};

/** Does what is to die at a point, and checks what is left of it; whether the point was reached. */
export type Attempt = (point: DeathPoint) => Promise<boolean>;

/** Operations on files of threads and on skills, during which a service of the machine `mortal` is killed; `other` has the runner. */
export class KilledOperations {
  private readonly round = randomBytes(3).toString('hex');
  private skills = 0;

  constructor(
    private readonly mortal: Machine,
    private readonly other: Machine,
  ) {}

  /** A request that changes files: afterwards they are old or new, and a repetition makes them new. */
  async change(name: ChangeName): Promise<Attempt> {
    const { mortal, other } = this;
    const { act, repeated = [] } = CHANGES[name];
    const healthy = await newScene(other);
    const old = await served(healthy, other);
    expect(await act(other, healthy)).toBe(200);
    const changed = await served(healthy, other);
    expect(changed).not.toEqual(old);
    return async (point) => {
      const scene = await newScene(other);
      const kill = { app: 'gateway', point, words: [scene.threadId] } as const;
      const { result, isKilled } = await killAt(mortal, kill, () => act(mortal, scene));
      const found = await served(scene, other);
      // The files of one request become visible one after the other, each of them whole.
      for (const [path, checksum] of Object.entries(found)) expect([old[path], changed[path]]).toContain(checksum);
      if (result !== undefined) expect([point, result, found]).toEqual([point, 200, changed]);
      expect([200, ...repeated]).toContain(await act(mortal, scene));
      for (const at of [mortal, other]) expect(await served(scene, at)).toEqual(changed);
      return isKilled;
    };
  }

  /** An install of a skill: afterwards all of it is installed, or nothing. */
  readonly install: Attempt = async (point) => {
    const { mortal, other } = this;
    this.skills += 1;
    const name = `ink-${this.round}-${this.skills}`;
    const threadId = await other.client.newThread();
    const text = `---\nname: ${name}\ndescription: Does ${name}.\n---\n# How\n`;
    const archive = await zipFile({ 'SKILL.md': text, 'refs/a.txt': `use ${name}` });
    expect(await send(other, 'POST', `/threads/${threadId}/uploads`, formOf({ [`${name}.skill`]: archive }))).toBe(200);
    const body = { thread_id: threadId, path: `/mnt/user-data/uploads/${name}.skill` };
    const install = () => send(mortal, 'POST', '/skills/install', body);
    const kill = { app: 'gateway', point, words: [threadId, ':skills'] } as const;
    const { result, isKilled } = await killAt(mortal, kill, install);
    const isListed = (await send(other, 'GET', `/skills/${name}`)) === 200;
    if (result !== undefined) expect([result, isListed]).toEqual([200, true]);
    expect(await install()).toBe(200);
    expect(await this.run(threadId, `cat /mnt/skills/custom/${name}/refs/a.txt`)).toContain(`use ${name}`);
    return isKilled;
  };

  /** A command whose manager first fetches files and then stores this many bytes: no file of its result is lost. */
  exec(bytes: number): Attempt {
    const { mortal, other } = this;
    return async (point) => {
      const scene = await newScene(other);
      const text = `cd /mnt/user-data && cat uploads/text && head -c ${bytes} /dev/urandom > outputs/made && sha256sum outputs/made`;
      const kill = { app: 'sandbox-manager', point, words: [scene.threadId] } as const;
      const { result, isKilled } = await killAt(mortal, kill, () => this.run(scene.threadId, text));
      const [checksum] = /[0-9a-f]{64}/.exec(result ?? '') ?? [];
      if (checksum === undefined) expect([point, result]).toEqual([point, expect.stringContaining('is not known')]);
      else {
        expect(result).toContain('newer');
        const isThere = async () => (await served(scene, other))['outputs/made'] === checksum;
        await waitFor(isThere, { what: `the file of ${JSON.stringify(point)}` });
      }
      const next = 'cd /mnt/user-data && cat uploads/text && echo later > outputs/later';
      expect(await this.run(scene.threadId, next)).toContain('newer');
      for (const at of [mortal, other]) {
        const found = await served(scene, at);
        expect(found['outputs/later']).toBe(sha256(Buffer.from('later\n')));
        if (checksum !== undefined) expect(found['outputs/made']).toBe(checksum);
      }
      return isKilled;
    };
  }

  /** A file of this many bytes that a tool writes whole: it is there with these bytes if the result says so, or old, or absent. */
  write(bytes: number): Attempt {
    const { mortal, other } = this;
    return async (point) => {
      const scene = await newScene(other);
      const content = randomBytes(bytes / 2).toString('hex');
      const file = { description: 'a test', path: '/mnt/user-data/outputs/made', content };
      const kill = { app: 'sandbox-manager', point, words: [scene.threadId] } as const;
      const { result, isKilled } = await killAt(mortal, kill, () => this.call(scene.threadId, 'write_file', file));
      const isWritten = result === 'OK';
      if (!isWritten) expect([point, result]).toEqual([point, expect.stringContaining('is not known')]);
      const madeIn = async (): Promise<string | undefined> => (await served(scene, other))['outputs/made'];
      const checksum = sha256(Buffer.from(content));
      if (isWritten)
        await waitFor(async () => (await madeIn()) === checksum, { what: `the file of ${JSON.stringify(point)}` });
      const next = 'cd /mnt/user-data && cat uploads/text && echo later > outputs/later';
      expect(await this.run(scene.threadId, next)).toContain('newer');
      for (const at of [mortal, other]) {
        const found = await served(scene, at);
        expect(found['outputs/later']).toBe(sha256(Buffer.from('later\n')));
        if (isWritten || found['outputs/made'] !== undefined) expect(found['outputs/made']).toBe(checksum);
      }
      return isKilled;
    };
  }

  private run(threadId: string, text: string): Promise<string> {
    return this.call(threadId, 'bash', { description: 'a test', command: text });
  }

  private async call(threadId: string, tool: string, args: Readonly<Record<string, string>>): Promise<string> {
    const call = `#tool ${tool} ${JSON.stringify(args)}`;
    const stream = await this.other.client.run(threadId, `${nonce()}\n${call}\n#say Done.`);
    return String(lastValues(await stream.end(120_000)).findLast(({ type }) => type === 'tool')?.content);
  }
}
