import type { Bus } from '@caribou/bus';
import { type Config, EXTENSIONS_MAX_AGE_MS, extensionsFile, readEnvLazily } from '@caribou/config';
import { MCP_DOCUMENT } from '@caribou/contracts';
import {
  type AgentMiddleware,
  type Logger,
  staticToolSource,
  type SandboxPort,
  shareRecentResult,
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
  /**
   * The journal of the part of the store that holds this process's threads; calls with side effects are entered under
   * their lease.
   */
  readonly journal: ToolJournal;
  readonly bus: Bus;
  /** The sandboxes to which results other than text are written. */
  readonly sandbox: SandboxPort;
  /** The operator's middlewares and tools. */
  readonly extensions: Extensions;
  readonly logger: Logger;
}

/** The tools and middlewares of agents besides the built-in ones. */
export interface AgentTools {
  readonly skills: SkillCatalog;
  /**
   * Sources of the operator, of the web and of MCP servers, in this order: of two tools with one name the first is
   * offered.
   */
  readonly sources: readonly ToolSource[];
  /** The operator's middlewares. */
  readonly custom: readonly AgentMiddleware[];
  /** The MCP servers, whose sessions must end when the process stops. */
  readonly mcp: McpTools;
}

/**
 * Limits of conversions of web pages to Markdown: those that run at once, each in its own process, and those that wait.
 */
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
  const file = extensionsFile(config.extensionsConfigPath);
  const mcp = createMcpTools({
    config: config.mcp,
    file: { read: shareRecentResult(() => file.read(), { maxAgeMs: EXTENSIONS_MAX_AGE_MS, clock: systemClock }) },
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
