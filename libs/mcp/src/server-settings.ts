import { type McpOAuth, McpServer } from '@caribou/contracts';
import type { Deferral } from '@caribou/core';
import type { Origin, ConfiguredServer } from './configured-servers.js';

/** How to connect to a server; texts may be references to variables. */
export type Endpoint =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'sse' | 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly oauth?: McpOAuth;
    };

/** The validated settings of a server. */
export interface ServerSettings {
  readonly name: string;
  readonly origin: Origin;
  readonly endpoint: Endpoint;
  /** Names of its tools begin with the name of the server. */
  readonly prefixed: boolean;
  /** How tool search finds a tool of this server. */
  readonly deferral: (tool: string) => Deferral;
  readonly callTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** Changes with every setting that requires a new connection. */
  readonly fingerprint: string;
}

/** What servers that administrators add may use; empty lists allow nothing. */
export interface ApiRules {
  readonly apiCommands: readonly string[];
  readonly apiVariables: readonly string[];
}

export type Parsed = { readonly settings: ServerSettings } | { readonly problem: string };

/** Parses the settings of a server, or returns the problem, which never shows an invalid value. */
export function parseServerSettings({ name, origin, entry }: ConfiguredServer, rules: ApiRules): Parsed {
  const parsed = McpServer.safeParse(entry);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { problem: `${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'is not valid'}` };
  }
  const server = parsed.data;
  const endpoint = endpointOf(server);
  if (typeof endpoint === 'string') return { problem: endpoint };
  const refusal = origin === 'api' ? apiRefusal(endpoint, rules) : undefined;
  if (refusal !== undefined) return { problem: refusal };
  const { tool_call_timeout: call, session_init_timeout: connect } = server;
  return {
    settings: {
      name,
      origin,
      endpoint,
      prefixed: server.tool_name_prefix,
      deferral: (tool) => deferralOf(server, tool),
      ...(typeof call === 'number' ? { callTimeoutMs: call * 1_000 } : {}),
      ...(typeof connect === 'number' ? { connectTimeoutMs: connect * 1_000 } : {}),
      fingerprint: JSON.stringify([origin, server]),
    },
  };
}

/** The declared transport of an entry, or the one that its fields imply. */
export const transportOf = ({ type, transport, command, url }: McpServer): 'stdio' | 'sse' | 'http' =>
  type ?? transport ?? (isGiven(url) && !isGiven(command) ? 'http' : 'stdio');

function endpointOf(server: McpServer): Endpoint | string {
  const kind = transportOf(server);
  const { command, args, env, url, headers, oauth } = server;
  if (kind === 'stdio') return isGiven(command) ? { kind, command, args, env } : 'command: a stdio server needs one';
  if (!isGiven(url)) return `url: a server of type ${kind} needs one`;
  const fault = url.startsWith('$') ? undefined : urlFault(url);
  if (fault !== undefined) return `url: ${fault}`;
  if (oauth?.enabled !== true) return { kind, url, headers };
  if (oauth.grant_type === 'refresh_token' && !isGiven(oauth.refresh_token))
    return 'oauth.refresh_token: the grant refresh_token needs one';
  return { kind, url, headers, oauth };
}

const isGiven = (text: string | null | undefined): text is string => typeof text === 'string' && text !== '';

/** Says why a URL cannot be used; undefined when it can. */
export function urlFault(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be an http(s) URL';
  const { protocol, username, password } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'must be an http(s) URL';
  return username === '' && password === '' ? undefined : 'must not hold a user or password; use headers';
}

function apiRefusal(endpoint: Endpoint, { apiCommands, apiVariables }: ApiRules): string | undefined {
  if (endpoint.kind === 'stdio' && !apiCommands.includes(endpoint.command)) {
    return (
      'command: servers that start a program must be configured in extensions_config.json; ' +
      'mcp.api_commands of config.yaml lists the commands that are also allowed over REST'
    );
  }
  const named = referencesIn(endpoint).find((name) => !apiVariables.includes(name));
  return named === undefined ? undefined : `$${named.slice(0, 100)}: not listed in mcp.api_variables of config.yaml`;
}

/** The variable that a text such as `$NAME` refers to. */
export const referenceIn = (text: string): string | undefined => /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(text)?.[1];

/** Lists the variables that the value refers to at any depth. */
function referencesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') {
    const name = referenceIn(value);
    return name === undefined ? [] : [name];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(referencesIn) : [];
}

/** Combines the routing of server and tool, of which the tool's takes precedence; keywords require `mode` `prefer`. */
function deferralOf({ routing, tools }: McpServer, tool: string): Deferral {
  const own = Object.hasOwn(tools, tool) ? tools[tool]?.routing : undefined;
  const { mode = 'off', priority = 0, keywords = [] } = { ...routing, ...own };
  return mode === 'prefer' ? { priority, keywords } : {};
}
