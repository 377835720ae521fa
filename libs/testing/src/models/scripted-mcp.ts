import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';

/** A tool of a scripted server. */
export interface ScriptedTool {
  readonly description?: string;
  readonly readOnly?: boolean;
  readonly inputSchema?: Tool['inputSchema'];
  /** The signal aborts when the client cancels the call. */
  call(args: Readonly<Record<string, unknown>>, signal: AbortSignal): CallToolResult | Promise<CallToolResult>;
}

export interface ScriptedMcp {
  readonly url: string;
  readonly port: number;
  /** Names of tools that were called, in order; a call counts when it arrives. */
  readonly calls: readonly string[];
  /** Authorization headers in the order of requests. */
  readonly authorizations: readonly (string | undefined)[];
  /** How many sessions were opened. */
  readonly sessions: number;
  /** How many of them still exist. */
  readonly openSessions: number;
  /** Changes the tools, and notifies the sessions. */
  setTools(tools: Readonly<Record<string, ScriptedTool>>): Promise<void>;
  /** Drops all sessions, as a server that restarts does. */
  forgetSessions(): void;
  /** Breaks all connections off. */
  dropConnections(): void;
  close(): Promise<void>;
}

export interface ScriptedMcpOptions {
  readonly tools: Readonly<Record<string, ScriptedTool>>;
  /** Requests whose header this rejects are answered 401. */
  readonly isAuthorized?: (authorization: string | undefined) => boolean;
}

export const textResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

/** A server over streamable HTTP in this process, whose tools a test writes. */
export async function startScriptedMcp(options: ScriptedMcpOptions): Promise<ScriptedMcp> {
  const script = new Script(options);
  const http = createServer((request, response) => {
    script
      .answer(request, response)
      .catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    calls: script.calls,
    authorizations: script.authorizations,
    get sessions() {
      return script.opened;
    },
    get openSessions() {
      return script.sessions.size;
    },
    setTools: (tools) => script.setTools(tools),
    forgetSessions: () => script.sessions.clear(),
    dropConnections: () => http.closeAllConnections(),
    close: () => closed(http),
  };
}

class Script {
  readonly calls: string[] = [];
  readonly authorizations: (string | undefined)[] = [];
  readonly sessions = new Map<string, { readonly transport: StreamableHTTPServerTransport; readonly server: Server }>();
  opened = 0;
  private tools: Readonly<Record<string, ScriptedTool>>;

  constructor(private readonly options: ScriptedMcpOptions) {
    this.tools = options.tools;
  }

  async setTools(tools: Readonly<Record<string, ScriptedTool>>): Promise<void> {
    this.tools = tools;
    await Promise.all([...this.sessions.values()].map(({ server }) => server.sendToolListChanged()));
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization } = request.headers;
    this.authorizations.push(authorization);
    if (this.options.isAuthorized?.(authorization) === false) {
      response.writeHead(401).end();
      return;
    }
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? this.sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) response.writeHead(404).end();
    else await (known?.transport ?? (await this.newSession())).handleRequest(request, response);
  }

  private async newSession(): Promise<StreamableHTTPServerTransport> {
    this.opened += 1;
    const server = new Server({ name: 'scripted', version: '1' }, { capabilities: { tools: { listChanged: true } } });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.sessions.set(id, { transport, server }),
      onsessionclosed: (id) => void this.sessions.delete(id),
    });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: Object.entries(this.tools).map(listed) }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
      this.calls.push(params.name);
      const tool = this.tools[params.name];
      if (tool === undefined) throw new Error(`no tool ${params.name}`);
      return await tool.call(params.arguments ?? {}, signal);
    });
    await server.connect(transport);
    return transport;
  }
}

const listed = ([name, { description = name, readOnly, inputSchema }]: [string, ScriptedTool]): Tool => ({
  name,
  description,
  inputSchema: inputSchema ?? { type: 'object', properties: {} },
  ...(readOnly === undefined ? {} : { annotations: { readOnlyHint: readOnly } }),
});

async function closed(http: HttpServer): Promise<void> {
  http.closeAllConnections();
  http.close();
  await once(http, 'close');
}
