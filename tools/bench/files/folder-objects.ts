import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectBody, ObjectContent, ObjectRange, ObjectStore } from '@caribou/core';

/** Objects in a folder, as far as the benchmark needs them. What is put is on the disk before the call returns. */
export function folderObjects(folder: string): ObjectStore {
  const unused = (): Promise<never> => Promise.reject(new Error('the benchmark does not use it'));
  return {
    put: (key, body) => put(join(folder, key), body),
    get: (key, range) => get(join(folder, key), range),
    head: unused,
    remove: unused,
    list: unused,
  };
}

async function put(path: string, { sha256, open: bytes }: ObjectBody): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  const file = await open(draft, 'wx');
  try {
    const hash = createHash('sha256');
    const opened = bytes();
    for await (const chunk of opened instanceof Uint8Array ? [opened] : opened) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    if (hash.digest('hex') !== sha256) throw new Error('the body is not what was announced');
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

async function get(path: string, range?: ObjectRange): Promise<ObjectContent> {
  const { size } = await stat(path);
  return { size, body: createReadStream(path, range) as AsyncIterable<Uint8Array> };
}
