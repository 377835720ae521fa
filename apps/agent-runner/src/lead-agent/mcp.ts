import type { Bus } from '@caribou/bus';
import { type Config, extensionsFile, lateVariable } from '@caribou/config';
import { MCP_DOCUMENT } from '@caribou/contracts';
import { type Logger, type SandboxPort, systemClock } from '@caribou/core';
import { mcpFetches } from '@caribou/egress';
import { type McpTools, mcpTools } from '@caribou/mcp';
import { type RedisConnection, redisSharedDocuments, redisTokenRecords, redisToolJournal } from '@caribou/state';

export interface McpConnections {
  readonly config: Pick<Config, 'mcp' | 'extensionsConfigPath'>;
  readonly redis: RedisConnection;
  readonly bus: Bus;
  /** Where results that are no text are written. */
  readonly sandbox: SandboxPort;
  readonly logger: Logger;
}

/** The MCP servers of this runner; calls with an effect are journalled under the lease of the thread. */
export function connectMcp({ config, redis, bus, sandbox, logger }: McpConnections): McpTools {
  const mcp = mcpTools({
    config: config.mcp,
    file: extensionsFile(config.extensionsConfigPath),
    variable: lateVariable,
    documents: redisSharedDocuments(redis),
    journal: redisToolJournal(redis),
    tokens: redisTokenRecords(redis),
    files: sandbox,
    ...mcpFetches(config.mcp),
    clock: systemClock,
    logger,
  });
  bus.subscribeConfigChanges(MCP_DOCUMENT, () => void mcp.refresh());
  return mcp;
}
