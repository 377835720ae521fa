import type { StoreOptions } from '@caribou/state';
import { startRedis } from '../servers/redis.js';
import type { TestServer } from '../servers/server-process.js';
import { openStores, type StoreFixture } from './store-fixture.js';

/**
 * Runs one Redis server for the tests around the call and opens new stores, under a key prefix of their own, for each
 * test.
 *
 * @param onOpen is called with the stores before each test
 */
export function useStore(
  onOpen: (store: StoreFixture, server: TestServer) => void | Promise<void>,
  options: StoreOptions = {},
): void {
  let server: TestServer;
  let store: StoreFixture;
  beforeAll(async () => {
    server = await startRedis({ appendonly: false });
  });
  beforeEach(async () => {
    store = openStores(server.url, options);
    await onOpen(store, server);
  });
  afterEach(() => store.close());
  afterAll(() => server.stop());
}
