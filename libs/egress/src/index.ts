export { addressPolicy } from './address-policy.js';
export { checkUrl } from './checked-url.js';
export { EgressProxy } from './egress-proxy.js';
export { type EgressRule, parseEgressRule } from './egress-rules.js';
export { formatTarget } from './host-name.js';
export { mcpFetches } from './mcp-fetches.js';
export type { EgressEntry } from './proxied-connection.js';
export { safeFetch } from './safe-fetch.js';
export { webReach } from './web-reach.js';
