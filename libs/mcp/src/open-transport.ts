import type { Logger, TokenRecords } from '@caribou/core';
import type { Clock } from '@caribou/core';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { AccessTokens, authorizedFetch } from './access-tokens.js';
import { type Fetch, limitedFetch } from './limited-fetch.js';
import { resolvedEndpoint, toldFailure, type Variable } from './resolved-endpoint.js';
import type { Endpoint, ServerSettings } from './server-settings.js';

export interface TransportParts {
  readonly variable: Variable;
  /** For servers that the operator wrote down. */
  readonly operatorFetch: Fetch;
  /** For servers that administrators wrote over REST: public addresses and what the operator allows. */
  readonly apiFetch: Fetch;
  readonly tokens: TokenRecords;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A transport that is not started, and what must not be told of it. */
export interface OpenedTransport {
  readonly transport: Transport;
  /** Tells the server that its session is not needed any more. */
  readonly goodbye: () => Promise<void>;
  readonly hidden: readonly string[];
}

export interface TransportOpener {
  /** @throws {TypeError} when a variable does not hold what it stands for */
  open(): OpenedTransport;
}

/** Makes the transports of one server; its sessions share the access token. */
export function transportOpener(settings: ServerSettings, parts: TransportParts): TransportOpener {
  const tokens = new Map<string, AccessTokens>();
  return {
    open() {
      const { endpoint, hidden, missing } = resolvedEndpoint(settings.endpoint, parts.variable);
      for (const name of missing)
        parts.logger.warn(
          { event: 'mcp.variable', server: settings.name, variable: name },
          'a variable that is named is not set',
        );
      if (endpoint.kind === 'stdio')
        return { transport: program(endpoint, { settings, parts, hidden }), goodbye: () => Promise.resolve(), hidden };
      const base = settings.origin === 'operator' ? parts.operatorFetch : parts.apiFetch;
      return { ...overHttp(endpoint, withToken(endpoint, base, { tokens, parts })), hidden };
    },
  };
}

type HttpEndpoint = Exclude<Endpoint, { readonly kind: 'stdio' }>;

/** Redirects are followed within the server's origin only, which is the SDK's rule: headers hold secrets. */
function overHttp({ kind, url, headers }: HttpEndpoint, fetch: Fetch): Pick<OpenedTransport, 'transport' | 'goodbye'> {
  const options = { fetch: limitedFetch(fetch), requestInit: { headers } };
  if (kind === 'sse')
    return { transport: new SSEClientTransport(new URL(url), options), goodbye: () => Promise.resolve() };
  const transport = new StreamableHTTPClientTransport(new URL(url), options);
  return { transport, goodbye: () => transport.terminateSession() };
}

interface Tokens {
  readonly tokens: Map<string, AccessTokens>;
  readonly parts: TransportParts;
}

/** One token for all sessions, as long as the variables behind it hold the same. */
function withToken({ oauth }: HttpEndpoint, fetch: Fetch, { tokens, parts }: Tokens): Fetch {
  if (oauth === undefined) return fetch;
  const key = JSON.stringify(oauth);
  const { tokens: records, clock } = parts;
  const known = tokens.get(key) ?? new AccessTokens(oauth, { records, fetch: limitedFetch(fetch, 65_536), clock });
  tokens.clear();
  tokens.set(key, known);
  return authorizedFetch(fetch, known);
}

interface ProgramFacts {
  readonly settings: ServerSettings;
  readonly parts: TransportParts;
  readonly hidden: readonly string[];
}

/** The program gets PATH, HOME and the like, and its own `env`; nothing else of this process's environment. */
function program(
  { command, args, env }: Extract<Endpoint, { readonly kind: 'stdio' }>,
  { settings, parts, hidden }: ProgramFacts,
): Transport {
  const transport = new StdioClientTransport({ command, args: [...args], env, stderr: 'pipe' });
  const { name: server } = settings;
  transport.stderr?.on('data', (data: Buffer) =>
    parts.logger.debug(
      { event: 'mcp.stderr', server, stderr: toldFailure(data.toString(), hidden) },
      'stderr of a server',
    ),
  );
  return transport;
}
