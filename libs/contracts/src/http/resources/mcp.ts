import { z } from 'zod';
import { McpOAuth, McpServerName } from '../../settings/mcp.js';
import { FreeJson, route } from '../route.js';

const group = 'MCP';

/** A server as shown to administrators: secrets are masked, references to variables (`$NAME`) are not resolved. */
const McpServerReply = z.looseObject({
  enabled: z.boolean(),
  type: z.enum(['stdio', 'sse', 'http']),
  command: z.string().nullable(),
  args: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  url: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
  oauth: McpOAuth.nullable(),
  description: z.string(),
});

const McpConfigReply = z.object({ mcp_servers: z.record(z.string(), McpServerReply) });
export type McpConfigReply = z.infer<typeof McpConfigReply>;

const read = route({
  name: 'getMcpConfig',
  group,
  role: 'administrator',
  method: 'GET',
  path: '/mcp/config',
  summary: 'The MCP servers of the operator and of administrators, with their secrets masked.',
  reply: McpConfigReply,
});

const replace = route({
  name: 'putMcpConfig',
  group,
  role: 'administrator',
  method: 'PUT',
  path: '/mcp/config',
  summary:
    'Replace the MCP servers; a masked secret is left unchanged. Servers of the operator can only be switched on and off.',
  body: z.object({ mcp_servers: z.record(z.string(), FreeJson) }),
  reply: McpConfigReply,
  refusals: [409, 413],
});

const toggle = route({
  name: 'patchMcpConfig',
  group,
  role: 'administrator',
  method: 'PATCH',
  path: '/mcp/config',
  summary: 'Switch one MCP server on or off.',
  body: z.object({ server_name: McpServerName, enabled: z.boolean() }),
  reply: McpConfigReply,
  refusals: [404, 409],
});

const reset = route({
  name: 'resetMcpCache',
  group,
  role: 'administrator',
  method: 'POST',
  path: '/mcp/cache/reset',
  summary: 'Reconnect to all MCP servers and list their tools again, in every process.',
  reply: z.object({ success: z.literal(true), message: z.string() }),
  refusals: [409],
});

export const mcpRoutes = { read, replace, toggle, reset };
