import { z } from 'zod';

/**
 * An MCP server (Model Context Protocol), as written by the operator in extensions_config.json and by administrators
 * over REST. Keys, units and defaults are DeerFlow's; unknown keys are stored and returned.
 */

const Text = z.string().max(10_000);
/** Variables or headers. Their names are checked where they are used. */
const Texts = z.record(
  z.string().max(200),
  z.union([Text, z.number(), z.boolean()]).transform((value) => String(value)),
);
const seconds = z.number().positive().max(86_400);

/** Routing of tools to user messages; a tool's own fields override those of its server. */
const Routing = z.looseObject({
  mode: z.enum(['off', 'prefer']).optional(),
  priority: z
    .number()
    .transform((value) => Math.min(100, Math.max(0, value)))
    .optional(),
  keywords: z.array(z.string().max(200)).max(100).optional(),
});

/** How access tokens are obtained; only for servers over HTTP. */
export const McpOAuth = z.looseObject({
  enabled: z.boolean().default(true),
  token_url: Text,
  grant_type: z.enum(['client_credentials', 'refresh_token']).default('client_credentials'),
  client_id: Text.nullish(),
  client_secret: Text.nullish(),
  refresh_token: Text.nullish(),
  scope: Text.nullish(),
  audience: Text.nullish(),
  token_field: Text.default('access_token'),
  token_type_field: Text.default('token_type'),
  expires_in_field: Text.default('expires_in'),
  default_token_type: Text.default('Bearer'),
  refresh_skew_seconds: z.number().min(0).max(86_400).default(60),
  extra_token_params: Texts.default({}),
});
export type McpOAuth = z.infer<typeof McpOAuth>;

const transports = z.enum(['stdio', 'sse', 'http']);
/** The protocol's names for the transport that DeerFlow's files call http. */
const otherNames: Readonly<Record<string, string>> = {
  'streamable-http': 'http',
  streamable_http: 'http',
  streamableHttp: 'http',
};
const Transport = z.preprocess(
  (value) => (typeof value === 'string' ? (otherNames[value] ?? value) : value),
  transports.optional(),
);

export const McpServer = z.looseObject({
  enabled: z.boolean().default(true),
  type: Transport,
  /** Another name of `type`. */
  transport: Transport,
  command: Text.nullish(),
  args: z.array(Text).max(200).default([]),
  env: Texts.default({}),
  url: Text.nullish(),
  headers: Texts.default({}),
  oauth: McpOAuth.nullish(),
  description: Text.default(''),
  routing: Routing.default({}),
  tools: z.record(z.string().max(200), z.looseObject({ routing: Routing.optional() })).default({}),
  tool_name_prefix: z.boolean().default(true),
  /** Seconds that one call may take without progress; null: as configured. */
  tool_call_timeout: seconds.nullish(),
  /** Seconds until the first answer of the server. */
  session_init_timeout: seconds.nullish(),
});
export type McpServer = z.infer<typeof McpServer>;

/** Names of servers; they are usually part of tool names. */
export const McpServerName = z
  .string()
  .regex(/^[^\p{Cc}\p{Cf}]{1,64}$/u, 'a server name must be 1 to 64 characters, none of them invisible');

export const MAX_MCP_SERVERS = 100;

/** The servers that administrators wrote over REST, stored for all processes. */
export const McpDocument = z.object({
  /** The servers as they were written: references to variables are not resolved, secrets not masked. */
  servers: z.record(z.string(), z.looseObject({})).default({}),
  /** Servers of the operator's file that are switched on or off contrary to the file. */
  switched: z.record(z.string(), z.boolean()).default({}),
  /** Increases when all connections must be re-established. */
  resets: z.number().int().default(0),
});
export type McpDocument = z.infer<typeof McpDocument>;

/** Name of that document, in the store and on the bus. */
export const MCP_DOCUMENT = 'mcp';
