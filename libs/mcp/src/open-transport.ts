import type { Logger, TokenRecords, Clock } from '@caribou/core';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { AccessTokens, withAuthorization } from './access-tokens.js';
import { type Fetch, limitFetch } from './limited-fetch.js';
import { resolveEndpoint, describeFailure, type Variable } from './resolve-endpoint.js';
import type { Endpoint, ServerSettings } from './server-settings.js';

export interface TransportParts {
  readonly variable: Variable;
  /** For servers in the operator's file. */
  readonly operatorFetch: Fetch;
  /** For servers added over REST: reaches public addresses and hosts that the operator allows. */
  readonly apiFetch: Fetch;
  readonly tokens: TokenRecords;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A transport that is not started, with the secrets of its endpoint. */
export interface OpenedTransport {
  readonly transport: Transport;
  /** Asks the server to end the session. */
  readonly endSession: () => Promise<void>;
  readonly secrets: readonly string[];
}

export interface TransportOpener {
  /** @throws {TypeError} when a variable does not hold a valid URL */
  open(): OpenedTransport;
}

/** Creates the transports of one server; its sessions share the access token. */
export function createTransportOpener(settings: ServerSettings, parts: TransportParts): TransportOpener {
  const tokens = new Map<string, AccessTokens>();
  return {
    open() {
      const { endpoint, secrets, missing } = resolveEndpoint(settings.endpoint, parts.variable);
      for (const name of missing)
        parts.logger.warn(
          { event: 'mcp.variable', server: settings.name, variable: name },
          'a variable in the settings of an MCP server is not set',
        );
      if (endpoint.kind === 'stdio')
        return {
          transport: createStdioTransport(endpoint, { settings, parts, secrets }),
          endSession: () => Promise.resolve(),
          secrets,
        };
      const base = settings.origin === 'operator' ? parts.operatorFetch : parts.apiFetch;
      return { ...createHttpTransport(endpoint, authorize(endpoint, base, { tokens, parts })), secrets };
    },
  };
}

type HttpEndpoint = Exclude<Endpoint, { readonly kind: 'stdio' }>;

/** Redirects are followed within the server's origin only, which is the SDK's rule: headers hold secrets. */
function createHttpTransport(
  { kind, url, headers }: HttpEndpoint,
  fetch: Fetch,
): Pick<OpenedTransport, 'transport' | 'endSession'> {
  const options = { fetch: limitFetch(fetch), requestInit: { headers } };
  if (kind === 'sse')
    return { transport: new SSEClientTransport(new URL(url), options), endSession: () => Promise.resolve() };
  const transport = new StreamableHTTPClientTransport(new URL(url), options);
  return { transport, endSession: () => transport.terminateSession() };
}

interface Tokens {
  readonly tokens: Map<string, AccessTokens>;
  readonly parts: TransportParts;
}

/** Shares one token between all sessions until a variable in its settings changes. */
function authorize({ oauth }: HttpEndpoint, fetch: Fetch, { tokens, parts }: Tokens): Fetch {
  if (oauth === undefined) return fetch;
  const key = JSON.stringify(oauth);
  const { tokens: records, clock } = parts;
  const known = tokens.get(key) ?? new AccessTokens(oauth, { records, fetch: limitFetch(fetch, 65_536), clock });
  tokens.clear();
  tokens.set(key, known);
  return withAuthorization(fetch, known);
}

interface ProgramFacts {
  readonly settings: ServerSettings;
  readonly parts: TransportParts;
  readonly secrets: readonly string[];
}

/** Creates a transport to a program whose environment is PATH, HOME and the like, and its own `env`. */
function createStdioTransport(
  { command, args, env }: Extract<Endpoint, { readonly kind: 'stdio' }>,
  { settings, parts, secrets }: ProgramFacts,
): Transport {
  const transport = new StdioClientTransport({ command, args: [...args], env, stderr: 'pipe' });
  const { name: server } = settings;
  transport.stderr?.on('data', (data: Buffer) =>
    parts.logger.debug(
      { event: 'mcp.stderr', server, stderr: describeFailure(data.toString(), secrets) },
      'an MCP server wrote to stderr',
    ),
  );
  return transport;
}
