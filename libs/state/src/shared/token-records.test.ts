import type { TokenRecord, TokenRecords } from '@caribou/core';
import { type StoreFixture, useStore, waitFor } from '@caribou/testing';
import { redisTokenRecords } from './token-records.js';

let store: StoreFixture;
let tokens: TokenRecords;

useStore((opened) => {
  store = opened;
  tokens = redisTokenRecords(store.redis);
});

const record: TokenRecord = { accessToken: 'a', tokenType: 'Bearer', freshUntilMs: 5, refreshToken: 'r' };

describe(redisTokenRecords, () => {
  test('one owner at a time fetches a token, and the next one finds it', async () => {
    expect(await tokens.read('t')).toBeNull();
    expect(await tokens.claim('t', 'one', 60_000)).toEqual({ state: 'held', record: null });
    expect(await tokens.claim('t', 'two', 60_000)).toEqual({ state: 'busy' });
    expect(await tokens.complete('t', 'two', record)).toBe(false);
    expect(await tokens.read('t')).toBeNull();
    expect(await tokens.complete('t', 'one', record)).toBe(true);

    expect(await tokens.claim('t', 'two', 60_000)).toEqual({ state: 'held', record });
    expect(await tokens.read('t')).toEqual(record);
  });

  test('releasing the lock without a token leaves the stored one', async () => {
    await tokens.claim('t', 'one', 60_000);
    await tokens.complete('t', 'one', record);
    await tokens.claim('t', 'two', 60_000);

    expect(await tokens.complete('t', 'two', null)).toBe(true);
    expect(await tokens.claim('t', 'three', 60_000)).toEqual({ state: 'held', record });
  });

  test('a lock ends with its time, and its owner cannot write afterwards', async () => {
    await tokens.claim('t', 'one', 30);
    await waitFor(async () => (await tokens.claim('t', 'two', 60_000)).state === 'held', { what: 'the lock to lapse' });

    expect(await tokens.complete('t', 'one', record)).toBe(false);
    expect(await tokens.complete('t', 'two', record)).toBe(true);
  });
});
