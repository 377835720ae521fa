import type { McpConfig } from '@caribou/config';
import {
  ConflictError,
  InvalidRequestError,
  MAX_MCP_SERVERS,
  type McpDocument,
  McpServerName,
} from '@caribou/contracts';
import { parseServerSettings, type ConfiguredServer } from '@caribou/mcp';
import { redactSecrets, toShownServer } from './redact-secrets.js';
import { sameJson, restoreSecrets } from './restore-secrets.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Merges the map of servers that an administrator wrote with those that are configured: servers of the operator can
 * only be switched on and off, others are replaced, and those that are missing are removed.
 *
 * @throws {InvalidRequestError} naming server and field
 * @throws {ConflictError} when a server of the operator is missing or was changed
 */
export function mergeServers(
  written: Readonly<Record<string, Fields>>,
  configured: readonly ConfiguredServer[],
  rules: McpConfig,
): Pick<McpDocument, 'servers' | 'switched'> {
  if (Object.keys(written).length > MAX_MCP_SERVERS)
    throw new InvalidRequestError(`mcp_servers: at most ${MAX_MCP_SERVERS} servers`);
  const switched: [string, boolean][] = [];
  for (const server of configured.filter(isVisibleOperatorServer)) {
    const wanted = switchOf(server, Object.hasOwn(written, server.name) ? written[server.name] : undefined);
    if (wanted !== (server.entry['enabled'] !== false)) switched.push([server.name, wanted]);
  }
  const own = new Set(configured.flatMap(({ name, origin }) => (origin === 'operator' ? [name] : [])));
  const servers = Object.entries(written).flatMap(([name, entry]): [string, Fields][] =>
    own.has(name) ? [] : [[name, toStoredServer(name, entry, { configured, rules })]],
  );
  return { servers: Object.fromEntries(servers), switched: Object.fromEntries(switched) };
}

/** Whether the operator configured the server and replies show it; malformed servers are not shown. */
const isVisibleOperatorServer = ({ origin, entry, enabled }: ConfiguredServer): boolean =>
  origin === 'operator' && toShownServer(entry, enabled) !== undefined;

function switchOf(server: ConfiguredServer, written: Fields | undefined): boolean {
  const where = 'is configured in extensions_config.json';
  if (written === undefined)
    throw new ConflictError(`the MCP server "${server.name}" ${where} and cannot be removed here; switch it off`);
  const { enabled = true, ...rest } = written;
  if (typeof enabled !== 'boolean') throw new InvalidRequestError(`${server.name}.enabled: must be true or false`);
  if (!isSame(rest, server))
    throw new ConflictError(`the MCP server "${server.name}" ${where}; only "enabled" can be changed here`);
  return enabled;
}

/** Whether the written fields are those of the server, either as replies show it or as it was configured. */
function isSame(written: Fields, { entry, enabled }: ConfiguredServer): boolean {
  return [toShownServer(entry, enabled), redactSecrets(entry)].some((known) => {
    const { enabled: _switch, ...rest } = known ?? {};
    return sameJson(written, rest);
  });
}

interface Known {
  readonly configured: readonly ConfiguredServer[];
  readonly rules: McpConfig;
}

function toStoredServer(name: string, written: Fields, { configured, rules }: Known): Fields {
  const named = McpServerName.safeParse(name);
  if (!named.success) throw new InvalidRequestError(`mcp_servers: ${named.error.issues[0]?.message ?? 'wrong name'}`);
  const before = configured.find((server) => server.name === name);
  const entry = restoreSecrets(name, written, before === undefined ? undefined : withReplyFields(before));
  const parsed = parseServerSettings({ name, origin: 'api', entry, enabled: true }, rules);
  if ('problem' in parsed) throw new InvalidRequestError(`${name}.${parsed.problem}`);
  return entry;
}

/** The server with the fields that a reply adds, so that masks in these fields can be resolved. */
function withReplyFields({ entry, enabled }: ConfiguredServer): Fields {
  const { env, headers, oauth, args, url } = entry;
  const shown = toShownServer(entry, enabled) ?? {};
  const secret = { env, headers, oauth, args, url };
  return { ...shown, ...Object.fromEntries(Object.entries(secret).filter(([, value]) => value !== undefined)) };
}
