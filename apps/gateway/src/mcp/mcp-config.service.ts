import type { ExtensionsFile } from '@caribou/config';
import { ConflictError, MCP_DOCUMENT, type McpConfigReply, McpDocument, NotFoundError } from '@caribou/contracts';
import type { SharedDocuments } from '@caribou/core';
import { type ConfiguredServer, listConfiguredServers } from '@caribou/mcp';
import {} from '@nestjs/common';
import { Dependency, type GatewayBus } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { toShownServer } from './redact-secrets.js';
import { mergeServers } from './merge-servers.js';

/** Attempts to write the document while others change it. */
const MAX_ATTEMPTS = 10;

interface ConfiguredServers {
  readonly version: number;
  readonly document: McpDocument;
  readonly servers: readonly ConfiguredServer[];
}

/**
 * The MCP servers as administrators see and change them. Their changes are one versioned document for all processes; the
 * operator's file is only read. Runners and pools connect to the servers, the gateway does not.
 */
export class McpConfigService {
  constructor(
    @Dependency('documents') private readonly documents: SharedDocuments,
    @Dependency('extensionsFile') private readonly file: ExtensionsFile,
    @Dependency('bus') private readonly bus: GatewayBus,
    @Dependency('settings') private readonly settings: GatewaySettings,
  ) {}

  async read(): Promise<McpConfigReply> {
    return toReply((await this.readConfigured()).servers);
  }

  /**
   * @throws {InvalidRequestError} naming server and field
   * @throws {ConflictError} when a server of the operator would change
   */
  replace(written: Readonly<Record<string, Readonly<Record<string, unknown>>>>): Promise<McpConfigReply> {
    return this.change(({ document, servers }) => ({
      ...document,
      ...mergeServers(written, servers, this.settings.mcp),
    }));
  }

  /** @throws {NotFoundError} */
  toggle(name: string, enabled: boolean): Promise<McpConfigReply> {
    return this.change(({ document, servers }) => {
      const server = servers.find((candidate) => candidate.name === name);
      if (server === undefined) throw new NotFoundError(`there is no MCP server "${name}"`);
      if (server.origin === 'operator') return { ...document, switched: { ...document.switched, [name]: enabled } };
      return { ...document, servers: { ...document.servers, [name]: { ...server.entry, enabled } } };
    });
  }

  async reset(): Promise<void> {
    await this.change(({ document }) => ({ ...document, resets: document.resets + 1 }));
  }

  /** Writes the changed document and notifies all processes. Repeats the change when another writer came first. */
  private async change(next: (configured: ConfiguredServers) => McpDocument): Promise<McpConfigReply> {
    for (let attempt = 1; ; attempt += 1) {
      const configured = await this.readConfigured();
      const wanted = next(configured);
      try {
        await this.documents.write(MCP_DOCUMENT, wanted, configured.version);
        break;
      } catch (error) {
        if (!(error instanceof ConflictError) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
    this.bus.publishConfigChange(MCP_DOCUMENT);
    return await this.read();
  }

  private async readConfigured(): Promise<ConfiguredServers> {
    const [{ version, value }, { content }] = await Promise.all([this.documents.read(MCP_DOCUMENT), this.file.read()]);
    const document = McpDocument.parse(value ?? {});
    return { version, document, servers: listConfiguredServers(content['mcpServers'], document) };
  }
}

const toReply = (servers: readonly ConfiguredServer[]): McpConfigReply => ({
  mcp_servers: Object.fromEntries(
    servers.flatMap(({ name, entry, enabled }) => {
      const server = toShownServer(entry, enabled);
      return server === undefined ? [] : [[name, server]];
    }),
  ) as McpConfigReply['mcp_servers'],
});
