import { startRedis } from '../servers/redis.js';
import type { TestServer } from '../servers/server-process.js';
import { openTasks, type TaskFixture, type TaskFixtureOptions } from './task-fixture.js';

/**
 * Runs one Redis server for the tests around the call and opens new stores of parents and tasks on it for each test.
 *
 * @param onOpen is called with the stores before each test
 */
export function useTasks(
  onOpen: (fixture: TaskFixture) => void | Promise<void>,
  options: TaskFixtureOptions = {},
): void {
  let server: TestServer;
  let fixture: TaskFixture;
  beforeAll(async () => {
    server = await startRedis({ appendonly: false });
  });
  beforeEach(async () => {
    fixture = openTasks(server.url, options);
    await onOpen(fixture);
  });
  afterEach(() => fixture.close());
  afterAll(() => server.stop());
}
