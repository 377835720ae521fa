export type { Fetch } from './limited-fetch.js';
export { type McpTools, createMcpTools } from './mcp-tools.js';
export { parseServerSettings, transportOf } from './server-settings.js';
export { type ConfiguredServer, listConfiguredServers } from './configured-servers.js';
