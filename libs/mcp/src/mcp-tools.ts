import type { McpConfig } from '@caribou/config';
import { MCP_DOCUMENT, McpDocument } from '@caribou/contracts';
import {
  type AnyTool,
  RESERVED_TOOL_NAMES,
  type SandboxPort,
  type SharedDocuments,
  type ToolJournal,
  type ToolSource,
} from '@caribou/core';
import type { ListedTool } from './listed-tool.js';
import { McpServer, type ServerTimes } from './mcp-server.js';
import { mcpTool, sessionPrefix } from './mcp-tool.js';
import { createTransportOpener, type TransportParts } from './open-transport.js';
import { type ServerSettings, parseServerSettings } from './server-settings.js';
import { SessionPool } from './session-pool.js';
import { assignToolNames } from './tool-names.js';
import { listConfiguredServers } from './configured-servers.js';

export interface McpToolsParts extends TransportParts {
  readonly config: McpConfig;
  /** The operator's extensions_config.json. */
  readonly file: {
    read(): Promise<{ readonly content: Readonly<Record<string, unknown>>; readonly problem?: string }>;
  };
  readonly documents: SharedDocuments;
  readonly journal: ToolJournal;
  readonly files: Pick<SandboxPort, 'write'>;
  /** Times of retries and refreshes; for tests. */
  readonly times?: Partial<ServerTimes>;
}

const REFRESH_MS = 300_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/** The tools of the MCP servers in the operator's file and of those that administrators added over REST. */
export interface McpTools extends ToolSource {
  /** Reads the configuration of servers now instead of at the next run. Never rejects. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects this process to the configured servers. Before each run it checks the operator's file and the version of the
 * administrators' document, and reconnects to servers whose settings changed; other connections are not affected.
 */
export function createMcpTools(parts: McpToolsParts): McpTools {
  return new ProcessServers(parts);
}

class ProcessServers implements McpTools {
  private readonly servers = new Map<string, McpServer>();
  private readonly sessions: SessionPool;
  private readonly times: ServerTimes;
  private document: McpDocument = McpDocument.parse({});
  private version = 0;
  private problems = '';
  private refreshing: Promise<void> | undefined;
  private nextRefresh: Promise<void> | undefined;
  private closed = false;

  constructor(private readonly parts: McpToolsParts) {
    const { config, clock, times } = parts;
    const { maxSessions, sessionIdleMs: idleMs, connectTimeoutMs, listTimeoutMs, callTimeoutMs, loadWaitMs } = config;
    this.sessions = new SessionPool({ maxSessions, idleMs }, clock);
    const pauses = { refreshMs: REFRESH_MS, retryMs: RETRY_MS, maxRetryMs: MAX_RETRY_MS };
    this.times = { connectTimeoutMs, listTimeoutMs, callTimeoutMs, loadWaitMs, ...pauses, ...times };
  }

  async tools(): Promise<readonly AnyTool[]> {
    if (!this.parts.config.enabled) return [];
    await this.refresh();
    const servers = [...this.servers.values()];
    const offers = await Promise.all(servers.map(async (server) => offersOf(server, await server.listOffered())));
    return assignToolNames(offers.flat(), RESERVED_TOOL_NAMES).map(([name, { of, listed }]) =>
      mcpTool({ name, server: of, tool: listed }, { ...this.parts, ...this.connections }),
    );
  }

  /** Refreshes once at a time. A call during a refresh waits for the next one, as the current may have read too early. */
  refresh(): Promise<void> {
    if (this.closed || !this.parts.config.enabled) return Promise.resolve();
    if (this.refreshing === undefined) return this.startRefresh();
    this.nextRefresh ??= this.refreshing.then(() => {
      this.nextRefresh = undefined;
      return this.startRefresh();
    });
    return this.nextRefresh;
  }

  private startRefresh(): Promise<void> {
    this.refreshing = this.readConfiguration().finally(() => (this.refreshing = undefined));
    return this.refreshing;
  }

  async close(): Promise<void> {
    this.closed = true;
    await (this.nextRefresh ?? this.refreshing);
    await Promise.all([this.sessions.close(), ...[...this.servers.values()].map((server) => server.close())]);
    this.servers.clear();
  }

  private get connections() {
    return { sessions: this.sessions, currentServer: (name: string): McpServer | undefined => this.servers.get(name) };
  }

  /** Applies the configuration. A source that cannot be read leaves its servers unchanged, and runs do not fail. */
  private async readConfiguration(): Promise<void> {
    const { file, logger } = this.parts;
    const [{ content, problem }, isNew] = await Promise.all([file.read(), this.readDocument()]);
    const written = listConfiguredServers(content['mcpServers'], this.document).filter(({ enabled }) => enabled);
    const problems = problem === undefined ? [] : [problem];
    const settings = new Map<string, ServerSettings>();
    for (const server of written) {
      const parsed = parseServerSettings(server, this.parts.config);
      if ('settings' in parsed) settings.set(server.name, parsed.settings);
      else problems.push(`${server.name}: ${parsed.problem}`);
    }
    this.reportProblems(problems);
    const changed = this.apply(settings);
    if (isNew || changed > 0) {
      const fields = { event: 'mcp.config', version: this.version, servers: settings.size, changed };
      logger.info(fields, 'the configuration of MCP servers changed');
    }
  }

  private async readDocument(): Promise<boolean> {
    const { documents, logger } = this.parts;
    try {
      if ((await documents.version(MCP_DOCUMENT)) === this.version) return false;
      const { version, value } = await documents.read(MCP_DOCUMENT);
      this.document = McpDocument.parse(value ?? {});
      this.version = version;
      return true;
    } catch (error) {
      logger.warn({ event: 'mcp.config', error }, "the administrators' MCP servers could not be read");
      return false;
    }
  }

  /** Logs problems once, not at every run. */
  private reportProblems(problems: readonly string[]): void {
    const all = problems.join('; ');
    if (all !== this.problems && all !== '')
      this.parts.logger.error(
        { event: 'mcp.config', problems },
        'MCP servers with an invalid configuration are skipped',
      );
    this.problems = all;
  }

  /** Connects and closes servers; returns how many were added, changed or removed. */
  private apply(settings: ReadonlyMap<string, ServerSettings>): number {
    if (this.closed) return 0;
    let changed = 0;
    for (const [name, server] of [...this.servers]) {
      if (settings.get(name)?.fingerprint === server.settings.fingerprint && server.resets === this.document.resets)
        continue;
      this.servers.delete(name);
      this.sessions.retire(sessionPrefix(name));
      void server.close();
      changed += settings.has(name) ? 0 : 1;
    }
    for (const [name, wanted] of settings) {
      if (this.servers.has(name)) continue;
      this.servers.set(name, this.connect(wanted));
      changed += 1;
    }
    return changed;
  }

  private connect(settings: ServerSettings): McpServer {
    const { clock, logger } = this.parts;
    const transports = createTransportOpener(settings, this.parts);
    return new McpServer(settings, { transports, times: this.times, clock, logger, resets: this.document.resets });
  }
}

const offersOf = (server: McpServer, tools: readonly ListedTool[]) =>
  tools.map((listed) => ({
    server: server.settings.name,
    tool: listed.name,
    prefixed: server.settings.prefixed,
    of: server,
    listed,
  }));
