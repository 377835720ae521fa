import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ObjectStore, OpenFile, ThreadKey } from '@caribou/core';
import { redisFileGenerations } from '@caribou/state';
import { type Death, dyingProcess, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { sha256Of } from '../file-hash.js';
import { FileRefusedError } from '../file-refused.js';
import { objectTreeStore } from '../plane/store/object-tree-store.js';
import { MemoryObjects } from '../testing/memory-objects.js';
import { SMALL } from '../testing/plane-fixture.js';
import type { StagedFile } from '../uploads/upload-intake.js';
import type { UserFiles } from '../uploads/user-files.js';
import { FileHistory } from './file-history.js';
import { storedUserFiles } from './stored-user-files.js';

const ROOT = '/mnt/user-data';
const LARGE = 'l'.repeat(5_000);
const homeDir = mkdtempSync(join(tmpdir(), 'caribou-killed-'));
afterAll(() => rmSync(homeDir, { recursive: true, force: true }));

let store: StoreFixture;
let objects: MemoryObjects;

useStore((opened) => {
  store = opened;
  objects = new MemoryObjects();
});

interface Gateway {
  readonly users: UserFiles;
  readonly history: FileHistory;
}

type Port = <T extends object>(port: T) => T;

/** A gateway that has nothing in memory; `port` is what it has of Redis and the object store. */
function gateway(port: Port = (living) => living): Gateway {
  const trees = objectTreeStore(port<ObjectStore>(objects), SMALL);
  const generations = port(redisFileGenerations(store.redis));
  const limits = { workspaceBytes: 1_000_000, workspaceFiles: 100 };
  const parts = { trees, generations, limits, askToPublish: () => Promise.resolve() };
  return { users: storedUserFiles({ ...parts, homeDir }), history: new FileHistory(parts) };
}

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}

async function receive(
  { users }: Gateway,
  key: ThreadKey,
  { content, publish }: { readonly content: string; readonly publish: (staged: StagedFile) => Promise<unknown> },
): Promise<boolean> {
  const intake = await users.openIntake(key);
  try {
    await publish(await intake.receive(chunks(content), 10_000));
    return await intake.isCurrent();
  } finally {
    await intake.close();
  }
}

const upload = (at: Gateway, key: ThreadKey, name: string, content: string): Promise<boolean> =>
  receive(at, key, { content, publish: (staged) => staged.publish(name) });

async function textOf(file: OpenFile): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of file.stream({ start: 0, end: file.size - 1 })) parts.push(part as Uint8Array);
  await file.close();
  return Buffer.concat(parts).toString();
}

/** All files as another gateway serves them; each has its checksum. */
async function served(key: ThreadKey): Promise<Readonly<Record<string, string>>> {
  const { history, users } = gateway();
  const { files } = await history.list(key, { limit: 100 });
  const contents: Record<string, string> = {};
  for (const { path, sha256 } of files) {
    const text = await textOf(await users.open(key, path));
    expect([path, sha256Of(Buffer.from(text))]).toEqual([path, sha256]);
    contents[path.slice(ROOT.length + 1)] = text;
  }
  return contents;
}

interface Scene {
  readonly key: ThreadKey;
  /** A checkpoint from before the last changes. */
  readonly checkpointId: string;
}

async function newScene(): Promise<Scene> {
  const key = thread();
  const healthy = gateway();
  await upload(healthy, key, 'text', 'old');
  await upload(healthy, key, 'other', LARGE);
  await store.threads.createThread(key, { metadata: {} });
  const { checkpointId } = await store.threads.updateState(key, { messages: [human('1')] });
  await upload(healthy, key, 'text', 'newer');
  return { key, checkpointId: checkpointId ?? '' };
}

const OPERATIONS: Readonly<Record<string, (at: Gateway, scene: Scene) => Promise<unknown>>> = {
  'an upload': (at, { key }) => upload(at, key, 'small', 'content'),
  'an upload that replaces a file': (at, { key }) => upload(at, key, 'text', `${LARGE}2`),
  'the Markdown of a document': (at, { key }) =>
    receive(at, key, { content: '# Title', publish: (staged) => staged.publishNew('document.md') }),
  'a removal': (at, { key }) => at.users.remove(key, `${ROOT}/uploads/text`),
  'an edit': (at, { key }) =>
    at.users.replaceText(key, `${ROOT}/uploads/text`, {
      content: Buffer.from('edited'),
      expectedSha256: sha256Of(Buffer.from('newer')),
      maxBytes: 1_000,
    }),
  'a file of a checkpoint': (at, { key, checkpointId }) =>
    at.history.restoreFile(key, `${ROOT}/uploads/text`, checkpointId),
};

/** Whether the operation was answered before its gateway was killed. */
async function wasAnswered(name: string, scene: Scene, death: Death): Promise<boolean> {
  const { port, died } = dyingProcess(death);
  const answered = OPERATIONS[name]?.(gateway(port), scene).then(() => true);
  return (await Promise.race([answered, died.then(() => false)])) === true;
}

describe('a gateway that is killed at any call to Redis or the object store', () => {
  test.each(Object.keys(OPERATIONS))('during %s: old or new is served, and a repetition makes it new', async (name) => {
    const healthy = await newScene();
    const old = await served(healthy.key);
    await OPERATIONS[name]?.(gateway(), healthy);
    const changed = await served(healthy.key);
    expect(changed).not.toEqual(old);
    let deaths = 0;
    for (const after of [false, true]) {
      for (let call = 1; ; call += 1) {
        const scene = await newScene();
        const isAnswered = await wasAnswered(name, scene, { call, after });
        const found = await served(scene.key);
        expect([old, changed]).toContainEqual(found);
        if (isAnswered) {
          expect(found).toEqual(changed);
          break;
        }
        deaths += 1;
        await OPERATIONS[name]?.(gateway(), scene).catch((error: unknown) => {
          // What was removed before the gateway died is not there any more.
          if (!(error instanceof FileRefusedError && error.reason === 'not_found')) throw error;
        });
        expect(await served(scene.key)).toEqual(changed);
        await upload(gateway(), scene.key, 'later', 'later');
        expect(await served(scene.key)).toEqual({ ...changed, 'uploads/later': 'later' });
      }
    }
    expect(deaths).toBeGreaterThan(6);
  });
});
