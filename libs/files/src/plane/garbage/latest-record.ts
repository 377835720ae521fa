import { randomBytes } from 'node:crypto';
import { NotFoundError } from '@caribou/contracts';
import type { ObjectStore } from '@caribou/core';

/** Digits of milliseconds since the epoch, so that keys are in the order of time. */
const TIME_DIGITS = 15;

/**
 * A text that changes, as objects never do: each version is an object with the time in its key, and the newest counts. `prefix` ends
 * with `/`.
 */
export async function readLatest(store: ObjectStore, prefix: string): Promise<string | undefined> {
  const newest = (await store.list(prefix)).objects.at(-1);
  if (newest === undefined) return undefined;
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await store.get(newest.key)).body) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    // Another process has replaced it meanwhile; what it said is only needed to be faster.
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Replaces the text; undefined removes it. */
export async function writeLatest(
  store: ObjectStore,
  prefix: string,
  { text, nowMs }: { readonly text: string | undefined; readonly nowMs: number },
): Promise<void> {
  const former = (await store.list(prefix)).objects.map(({ key }) => key);
  if (text !== undefined) {
    const bytes = Buffer.from(text);
    const key = `${prefix}${String(nowMs).padStart(TIME_DIGITS, '0')}-${randomBytes(8).toString('hex')}`;
    await store.put(key, { bytes });
  }
  if (former.length > 0) await store.remove(former);
}
