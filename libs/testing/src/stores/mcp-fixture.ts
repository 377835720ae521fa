import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extensionsFile, readEnvLazily, loadConfig, type McpConfig } from '@caribou/config';
import { McpDocument, type ToolMessage } from '@caribou/contracts';
import {
  type AnyTool,
  type SharedDocuments,
  silentLogger,
  systemClock,
  type ToolContext,
  type ToolOutcome,
} from '@caribou/core';
import { type Fetch, type McpTools, createMcpTools } from '@caribou/mcp';
import { redisSharedDocuments, redisTokenRecords, redisToolJournal } from '@caribou/state';
import { openStores, thread } from './store-fixture.js';
import { type FakeSandbox, fakeRun, fakeSandbox } from './fake-run.js';

/** MCP servers of one installation: an operator's file, a store, and as many processes as a test starts. */
export interface McpFixture {
  readonly documents: SharedDocuments;
  readonly sandbox: FakeSandbox;
  /** The log lines of the processes. */
  readonly logged: readonly (Readonly<Record<string, unknown>> & { readonly level: string })[];
  /** Writes `mcpServers` of the operator's file. */
  writeFile(servers: Readonly<Record<string, unknown>>): void;
  /** Replaces what administrators wrote. */
  writeDocument(document: Partial<McpDocument>): Promise<void>;
  /** Another process. */
  process(config?: Partial<McpConfig>, fetches?: { readonly apiFetch?: Fetch }): McpTools;
  /** A context of a claimed run, for calls of tools; each has a key of its own. */
  context(): Promise<ToolContext>;
  close(): Promise<void>;
}

export function mcpFixture(redisUrl: string): McpFixture {
  const folder = mkdtempSync(join(tmpdir(), 'caribou-mcp-'));
  const path = join(folder, 'extensions_config.json');
  const store = openStores(redisUrl, { leaseMs: 600_000 });
  const documents = redisSharedDocuments(store.redis);
  const sandbox = fakeSandbox();
  const logged: (Readonly<Record<string, unknown>> & { readonly level: string })[] = [];
  const log = (level: string) => (fields: object) => void logged.push({ level, ...fields });
  const logger = { ...silentLogger, info: log('info'), warn: log('warn'), error: log('error') };
  const processes: McpTools[] = [];
  return {
    documents,
    sandbox,
    logged,
    writeFile: (mcpServers) => {
      writeFileSync(`${path}.new`, JSON.stringify({ mcpServers }));
      renameSync(`${path}.new`, path);
    },
    writeDocument: async (document) => {
      await documents.write('mcp', McpDocument.parse(document), await documents.version('mcp'));
    },
    process: (config, fetches) => {
      const source = createMcpTools({
        config: { ...loadConfig({}, folder).mcp, ...config },
        file: extensionsFile(path),
        variable: readEnvLazily,
        documents,
        journal: redisToolJournal(store.redis),
        tokens: redisTokenRecords(store.redis),
        files: sandbox,
        operatorFetch: fetch,
        apiFetch: fetch,
        ...fetches,
        clock: systemClock,
        logger,
        times: { retryMs: 50, maxRetryMs: 200 },
      });
      processes.push(source);
      return source;
    },
    context: async () => {
      const key = thread();
      const record = await store.admit(key);
      const { epoch } = (await store.claim(key)).lease;
      const run = fakeRun({ ...key, runId: record.run_id, epoch });
      return { run, toolCallId: 'call-1', key: `${record.run_id}:call-1`, state: { messages: [] } };
    },
    close: async () => {
      await Promise.all(processes.map((source) => source.close()));
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The tools of a process by name. */
export async function toolsByName(source: McpTools): Promise<ReadonlyMap<string, AnyTool>> {
  return new Map((await source.tools()).map((tool) => [tool.name, tool]));
}

/** Calls a tool that must be there. */
export async function callTool(
  source: McpTools,
  name: string,
  args: ToolMessage['additional_kwargs'],
  context: ToolContext,
): Promise<ToolOutcome> {
  const tools = await toolsByName(source);
  const tool = tools.get(name);
  if (tool === undefined) throw new Error(`no tool ${name} among ${[...tools.keys()].join(', ')}`);
  return await tool.invoke(args, context);
}
