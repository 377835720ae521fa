import type { StoreOptions } from '../redis/store-settings.js';
import { openStores, startRedis, type StoreFixture, type TestServer } from '@caribou/testing';

/**
 * Runs one Redis server for the tests of the file. The function that it returns opens stores on it, which are closed after
 * the test.
 */
export function useOpenStores(): (options?: StoreOptions) => StoreFixture {
  let server: TestServer;
  const opened: StoreFixture[] = [];

  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  });
  afterAll(async () => {
    await server.stop();
  });

  return (options = {}) => {
    const store = openStores(server.url, options);
    opened.push(store);
    return store;
  };
}
