import type { mcpRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';

export const getMcpConfig = endpoint<typeof mcpRoutes.read>('GET', '/mcp/config');
export const putMcpConfig = endpoint<typeof mcpRoutes.replace>('PUT', '/mcp/config');
export const switchServer = endpoint<typeof mcpRoutes.toggle>('PATCH', '/mcp/config');
export const resetCache = endpoint<typeof mcpRoutes.reset>('POST', '/mcp/cache/reset');

export type McpServers = Awaited<ReturnType<typeof getMcpConfig>>['mcp_servers'];
export type McpServer = McpServers[string];

export const MCP = ['mcp'] as const;

export const useMcpServers = (isAdministrator: boolean) =>
  useQuery({ queryKey: [...MCP], queryFn: ({ signal }) => getMcpConfig({ signal }), enabled: isAdministrator });

/**
 * Adds, replaces or removes one server, on the servers as they are at this moment; the masked secrets of all others come back
 * unchanged. @throws {ApiError}
 */
export async function writeServer(name: string, server: Readonly<Record<string, unknown>> | null): Promise<McpServers> {
  const { mcp_servers: current } = await getMcpConfig({});
  const { [name]: _, ...others } = current;
  const written = server === null ? others : { ...others, [name]: server };
  return (await putMcpConfig({ body: { mcp_servers: written } })).mcp_servers;
}
