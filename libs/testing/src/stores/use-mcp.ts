import { startRedis } from '../servers/redis.js';
import type { TestServer } from '../servers/server-process.js';
import { type McpFixture, mcpFixture } from './mcp-fixture.js';

/**
 * Runs one Redis server for the tests around the call and opens a new fixture on it for each test.
 *
 * @param onOpen is called with the fixture before each test
 */
export function useMcp(onOpen: (mcp: McpFixture) => void | Promise<void>): void {
  let redis: TestServer;
  let mcp: McpFixture;
  beforeAll(async () => {
    redis = await startRedis({ appendonly: false });
  });
  beforeEach(async () => {
    mcp = mcpFixture(redis.url);
    await onOpen(mcp);
  });
  afterEach(() => mcp.close());
  afterAll(() => redis.stop());
}
