import { z } from 'zod';
import { route } from '../route.js';
import { ThreadPath } from '../threads/threads.js';

const group = 'Features';

const Switch = z.object({ enabled: z.boolean() });

/** Features that a web client may offer; those that this server lacks are off. */
export const FeaturesReply = z.object({
  agents_api: Switch,
  browser_control: Switch,
  goals: Switch,
  input_polish: Switch,
  mcp_tasks: Switch,
  scheduled_tasks: z.object({
    available: z.literal(true),
    running: z.literal(true),
    tool_enabled: z.literal(false).describe('Conversations cannot make tasks'),
    min_interval_seconds: z.number().int(),
  }),
});
export type FeaturesReply = z.infer<typeof FeaturesReply>;

const features = route({
  name: 'getFeatures',
  group,
  method: 'GET',
  path: '/features',
  summary: 'Features of this server, for web clients.',
  reply: FeaturesReply,
});

/** DeerFlow's web client requests these lists although this server has no such features; they are always empty. */
const None = z.array(z.unknown()).max(0);

const channels = route({
  name: 'listChannelProviders',
  group,
  method: 'GET',
  path: '/channels/providers',
  summary: 'Messengers: none.',
  reply: z.object({ enabled: z.literal(false), providers: None }),
});

const channelConnections = route({
  name: 'listChannelConnections',
  group,
  method: 'GET',
  path: '/channels/connections',
  summary: 'Messengers that are connected: none.',
  reply: z.object({ connections: None }),
});

const mcpTasks = route({
  name: 'listMcpTasks',
  group,
  method: 'GET',
  path: '/threads/:thread_id/mcp-tasks',
  summary: 'Long jobs of MCP servers: none, as their tools are called and awaited.',
  params: ThreadPath,
  reply: None,
  refusals: [404],
});

export const featureRoutes = {
  features,
  channels,
  channelConnections,
  mcpTasks,
};
