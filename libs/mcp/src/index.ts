export type { Fetch } from './limited-fetch.js';
export { type McpTools, createMcpTools } from './mcp-tools.js';
export { parseServerSettings, transportOf } from './server-settings.js';
export { type ConfiguredServer, configuredServers } from './configured-servers.js';
