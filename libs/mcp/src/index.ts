export type { Fetch } from './limited-fetch.js';
export { type McpTools, mcpTools } from './mcp-tools.js';
export { serverSettings, transportOf } from './server-settings.js';
export { type WrittenServer, writtenServers } from './written-servers.js';
