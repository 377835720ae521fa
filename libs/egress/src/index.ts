export { addressPolicy } from './address-policy.js';
export { EgressProxy } from './egress-proxy.js';
export { parseEgressRule } from './egress-rules.js';
export { formatTarget } from './host-name.js';
export { mcpFetches } from './mcp-fetches.js';
export type { EgressEntry } from './proxied-connection.js';
export { createWebhookCheck, createWebhookFetch } from './webhook-fetch.js';
export { createWebFetch } from './web-fetch.js';
