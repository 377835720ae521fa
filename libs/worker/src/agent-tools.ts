import type { Bus } from '@caribou/bus';
import { type Config, extensionsFile, readEnvLazily } from '@caribou/config';
import { MCP_DOCUMENT } from '@caribou/contracts';
import {
  type AgentMiddleware,
  type Logger,
  staticToolSource,
  type SandboxPort,
  type SkillCatalog,
  systemClock,
  type ToolJournal,
  type ToolSource,
} from '@caribou/core';
import { documentConverter } from '@caribou/documents';
import { mcpFetches, createWebFetch } from '@caribou/egress';
import { type Extensions, withJournal } from '@caribou/extensions';
import { type McpTools, createMcpTools } from '@caribou/mcp';
import { openSkillCatalog } from '@caribou/skills';
import { type RedisConnection, redisSharedDocuments, redisSkills, redisTokenRecords } from '@caribou/state';
import { webTools } from '@caribou/web';

export interface AgentToolParts {
  readonly config: Config;
  readonly redis: RedisConnection;
  /** Of the part of the store that keeps this process's threads: calls with an effect are entered under their lease. */
  readonly journal: ToolJournal;
  readonly bus: Bus;
  /** Where results that are no text are written. */
  readonly sandbox: SandboxPort;
  /** The operator's middlewares and tools. */
  readonly extensions: Extensions;
  readonly logger: Logger;
}

/** What agents work with beside the built-in tools. */
export interface AgentTools {
  readonly skills: SkillCatalog;
  /** Of the operator, of the web and of MCP servers, in this order: of two tools with one name the first is offered. */
  readonly sources: readonly ToolSource[];
  /** Middlewares of the operator. */
  readonly custom: readonly AgentMiddleware[];
  /** Has sessions to end when the process stops. */
  readonly mcp: McpTools;
}

/** Pages that are made Markdown of at once, each in a process, and those that may wait. */
const PAGES = { maxAtOnce: 4, maxWaiting: 128 };

/** The tools of a process that runs agents; connects in the background and refreshes MCP servers when they change. */
export function openAgentTools(parts: AgentToolParts): AgentTools {
  const { config, redis, journal, logger } = parts;
  const { middlewares, tools } = withJournal(parts.extensions, journal);
  const mcp = connectMcp(parts);
  return {
    skills: openSkillCatalog(config, { store: redisSkills(redis), clock: systemClock, logger }),
    sources: [
      staticToolSource(tools),
      webTools(config.web, { reach: createWebFetch, pages: documentConverter(PAGES) }),
      mcp,
    ],
    custom: middlewares,
    mcp,
  };
}

function connectMcp({ config, redis, journal, bus, sandbox, logger }: AgentToolParts): McpTools {
  const mcp = createMcpTools({
    config: config.mcp,
    file: extensionsFile(config.extensionsConfigPath),
    variable: readEnvLazily,
    documents: redisSharedDocuments(redis),
    journal,
    tokens: redisTokenRecords(redis),
    files: sandbox,
    ...mcpFetches(config.mcp),
    clock: systemClock,
    logger,
  });
  bus.subscribeConfigChanges(MCP_DOCUMENT, () => void mcp.refresh());
  return mcp;
}
