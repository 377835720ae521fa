import { MAX_MCP_SERVERS, type McpDocument, McpServerName } from '@caribou/contracts';

type Fields = Readonly<Record<string, unknown>>;

/** Who wrote a server down: what administrators write over REST is trusted less. */
export type Origin = 'operator' | 'api';

/** A server as it was written, with the switch as it stands. */
export interface ConfiguredServer {
  readonly name: string;
  readonly origin: Origin;
  /** As it was written: references are not resolved. */
  readonly entry: Fields;
  readonly enabled: boolean;
}

/**
 * All servers by name: those of `mcpServers` of the operator's file, switched as administrators say, and those that
 * administrators wrote. A name in both is the operator's. What is no server, or one too many, is left out.
 */
export function configuredServers(file: unknown, document: McpDocument): readonly ConfiguredServer[] {
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

/** A server that says nothing is on. */
const isEnabled = (entry: Fields): boolean => entry['enabled'] !== false;

const entriesOf = (servers: unknown): readonly (readonly [string, Fields])[] =>
  isFields(servers)
    ? Object.entries(servers).flatMap(([name, entry]) =>
        isFields(entry) && McpServerName.safeParse(name).success ? [[name, entry] as const] : [],
      )
    : [];

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
