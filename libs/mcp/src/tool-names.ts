import { createHash } from 'node:crypto';

/** Longest name of a tool that model providers accept. */
const MAX_CHARS = 64;
const HASH_CHARS = 8;

/** A tool of a server, and whether its offered name begins with the server's. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
  readonly prefixed: boolean;
}

/**
 * Assigns the names under which tools are offered: `{server}_{tool}`, or the tool's own. Characters that providers refuse
 * become `_`. A name that is too long, reserved or taken by an earlier tool (sorted by server and tool) gets a hash of
 * both, so names are unique, and the same in every process with the same tools.
 */
export function assignToolNames<T extends NamedTool>(
  tools: readonly T[],
  reserved: ReadonlySet<string>,
): readonly (readonly [string, T])[] {
  const taken = new Set(reserved);
  return [...tools].sort(byServerAndTool).map((tool) => {
    const plain = (tool.prefixed ? `${tool.server}_${tool.tool}` : tool.tool).replace(/[^A-Za-z0-9_-]/g, '_');
    const name = plain !== '' && plain.length <= MAX_CHARS && !taken.has(plain) ? plain : withHash(plain, tool);
    taken.add(name);
    return [name, tool] as const;
  });
}

function withHash(plain: string, { server, tool }: NamedTool): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, HASH_CHARS);
  return `${plain.slice(0, MAX_CHARS - HASH_CHARS - 1)}_${hash}`;
}

const byServerAndTool = (a: NamedTool, b: NamedTool): number => order(a.server, b.server) || order(a.tool, b.tool);
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
