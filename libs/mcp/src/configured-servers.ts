import { isRecord, MAX_MCP_SERVERS, type McpDocument, McpServerName } from '@caribou/contracts';

type Fields = Readonly<Record<string, unknown>>;

/** Who configured a server; administrators over REST are trusted less than the operator. */
export type Origin = 'operator' | 'api';

/** The unvalidated entry of a server, and whether it is enabled. */
export interface ConfiguredServer {
  readonly name: string;
  readonly origin: Origin;
  /** The entry with unresolved references. */
  readonly entry: Fields;
  readonly enabled: boolean;
}

/**
 * Lists all servers by name: those in `mcpServers` of the operator's file, which administrators may switch on and off, and
 * those that administrators added. The operator's take precedence. Invalid entries and those above the limit are skipped.
 */
export function listConfiguredServers(file: unknown, document: McpDocument): readonly ConfiguredServer[] {
  const found = new Map<string, ConfiguredServer>();
  for (const [name, entry] of entriesOf(document.servers)) {
    found.set(name, { name, origin: 'api', entry, enabled: isEnabled(entry) });
  }
  for (const [name, entry] of entriesOf(file)) {
    const enabled = Object.hasOwn(document.switched, name) ? document.switched[name] === true : isEnabled(entry);
    found.set(name, { name, origin: 'operator', entry, enabled });
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MAX_MCP_SERVERS);
}

/** Servers are enabled by default. */
const isEnabled = (entry: Fields): boolean => entry['enabled'] !== false;

const entriesOf = (servers: unknown): readonly (readonly [string, Fields])[] =>
  isRecord(servers)
    ? Object.entries(servers).flatMap(([name, entry]) =>
        isRecord(entry) && McpServerName.safeParse(name).success ? [[name, entry] as const] : [],
      )
    : [];
