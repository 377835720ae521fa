import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { freePort } from './ports.js';
import { killed } from './server-process.js';
import { waitFor } from '../util/wait-for.js';

/** A server of the npm packages that ship with the protocol. */
export type McpPackage = 'server-everything' | 'server-filesystem' | 'server-memory';

/** The file that is its program. */
export const mcpProgram = (name: McpPackage): string =>
  join(dirname(createRequire(__filename).resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js');

export interface McpHttpServer {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** `server-everything` as a process of its own, over HTTP. `port` 0 takes any free one. */
export async function startMcpServer(transport: 'sse' | 'streamableHttp', port = 0): Promise<McpHttpServer> {
  const chosen = port === 0 ? await freePort() : port;
  const child = spawn(process.execPath, [mcpProgram('server-everything'), transport], {
    env: { PATH: process.env.PATH, PORT: String(chosen) },
    stdio: 'ignore',
  });
  const origin = `http://127.0.0.1:${chosen}`;
  await waitFor(async () => (await fetch(`${origin}/none`)).status === 404, {
    what: `the MCP server (${transport})`,
  });
  return {
    port: chosen,
    url: `${origin}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    stop: () => killed(child),
  };
}
