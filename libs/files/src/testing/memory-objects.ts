import { ConflictError, NotFoundError, UnavailableError } from '@caribou/contracts';
import type { ObjectBody, ObjectContent, ObjectInfo, ObjectPage, ObjectRange, ObjectStore } from '@caribou/core';
import { sha256Of } from '../file-hash.js';

const CHUNK_BYTES = 16 * 1024;
const MAX_PAGE = 1_000;

/** An object store in memory, whose calls can be made to fail. */
export class MemoryObjects implements ObjectStore {
  readonly objects = new Map<string, Buffer>();
  /** Its clock, in milliseconds. */
  nowMs = 0;
  private readonly modified = new Map<string, number>();
  /** Calls by kind, failed ones included. */
  readonly calls = { put: 0, get: 0 };
  /** Decides for each call of put and get, counted from 1, whether it fails; it does so before or after its work. */
  failure: (call: number) => 'before' | 'after' | undefined = () => undefined;

  async put(key: string, body: ObjectBody): Promise<void> {
    this.calls.put += 1;
    await this.act(async () => {
      const bytes = 'bytes' in body ? Buffer.from(body.bytes) : await allOf(body.open());
      const size = 'bytes' in body ? bytes.byteLength : body.size;
      if (bytes.byteLength !== size || sha256Of(bytes) !== (body.sha256 ?? sha256Of(bytes))) {
        throw new ConflictError('the body is not what was announced', { details: { reason: 'altered' } });
      }
      this.objects.set(key, bytes);
      this.modified.set(key, this.nowMs);
    });
  }

  async get(key: string, range?: ObjectRange): Promise<ObjectContent> {
    this.calls.get += 1;
    return this.act(async () => {
      const bytes = this.objects.get(key);
      if (bytes === undefined) throw new NotFoundError(`no object ${key}`);
      const part = range === undefined ? bytes : bytes.subarray(range.start, range.end + 1);
      return { size: bytes.byteLength, body: chunksOf(part) };
    });
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    const bytes = this.objects.get(key);
    return bytes && { key, size: bytes.byteLength, modifiedMs: this.modified.get(key) ?? 0 };
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.objects.delete(key);
  }

  async list(prefix: string, after = ''): Promise<ObjectPage> {
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const objects = keys
      .slice(0, MAX_PAGE)
      .map((key) => ({ key, size: this.objects.get(key)?.byteLength ?? 0, modifiedMs: this.modified.get(key) ?? 0 }));
    const last = objects.at(-1);
    return { objects, ...(keys.length > MAX_PAGE && last !== undefined ? { next: last.key } : {}) };
  }

  /** There are none: a put is whole or not at all. */
  removeLeftovers(): Promise<number> {
    return Promise.resolve(0);
  }

  private async act<T>(work: () => Promise<T>): Promise<T> {
    const failure = this.failure(this.calls.put + this.calls.get);
    const fail = (): never => {
      throw new UnavailableError('the object store is away', { details: { dependency: 'object_store' } });
    };
    if (failure === 'before') fail();
    const result = await work();
    return failure === 'after' ? fail() : result;
  }
}

async function allOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
