import type { SharedDocuments } from '@caribou/core';
import { type StoreFixture, useStore } from '@caribou/testing';
import { redisSharedDocuments } from './shared-documents.js';

let store: StoreFixture;
let documents: SharedDocuments;

useStore((opened) => {
  store = opened;
  documents = redisSharedDocuments(store.redis);
});

describe(redisSharedDocuments, () => {
  test('a document that was never written has version 0', async () => {
    expect(await documents.read('mcp')).toEqual({ version: 0, value: undefined });
    expect(await documents.version('mcp')).toBe(0);
  });

  test('each write has a higher version and replaces the whole', async () => {
    const first = await documents.write('mcp', { a: 1 }, 0);
    const second = await documents.write('mcp', { b: [2] }, first);

    expect(second).toBeGreaterThan(first);
    expect(await documents.read('mcp')).toEqual({ version: second, value: { b: [2] } });
    expect(await documents.version('mcp')).toBe(second);
    expect(await documents.version('other')).toBe(0);
  });

  test('of two writes on one version one is refused, and changes nothing', async () => {
    const results = await Promise.allSettled([documents.write('mcp', 'a', 0), documents.write('mcp', 'b', 0)]);

    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const { version, value } = await documents.read('mcp');
    expect(value).toBe(results[0]?.status === 'fulfilled' ? 'a' : 'b');
    await expect(documents.write('mcp', 'c', version - 1)).rejects.toThrow('changed by another request');
    expect(await documents.read('mcp')).toEqual({ version, value });
  });

  test('a version is not used again when the store was emptied', async () => {
    const before = await documents.write('mcp', 1, 0);
    await store.redis.use((client) => client.del(store.redis.keys.document('mcp')));

    expect(await documents.write('mcp', 2, 0)).toBeGreaterThan(before);
  });

  test('a document over 1 MiB is refused, and no name reaches another key', async () => {
    await expect(documents.write('mcp', 'x'.repeat(1024 * 1024), 0)).rejects.toThrow('too large');
    await expect(documents.read('a:b')).rejects.toThrow('an id must be');
  });
});
