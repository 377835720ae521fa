import { createHash } from 'node:crypto';
import { BugError, type ThreadState } from '@caribou/contracts';
import { type AnyTool, escapeMarkup } from '@caribou/core';

/** The tools that a model does not see before it looks them up. */
export interface DeferredCatalog {
  /** The tools, sorted by name. */
  readonly tools: readonly AnyTool[];
  /** First 16 hex digits of the SHA-256 of names and schemas; promotions are valid while it is the same. */
  readonly hash: string;
}

/**
 * Builds the catalogue of an agent's deferred tools.
 *
 * @throws {BugError} when a deferred tool has the name of another tool, which would make hiding it ambiguous
 */
export function buildDeferredCatalog(tools: readonly AnyTool[]): DeferredCatalog {
  const deferred = tools.filter((tool) => tool.deferred !== undefined).sort(byName);
  for (const { name } of deferred) {
    const same = tools.filter((tool) => tool.name === name);
    if (same.length > 1) throw new BugError(`there are ${same.length} tools '${name}', and one of them is deferred`);
  }
  const described = deferred.map(({ name, parameters }) => [name, sortKeys(parameters)]);
  const hash = createHash('sha256').update(JSON.stringify(described)).digest('hex').slice(0, 16);
  return { tools: deferred, hash };
}

const byName = (a: AnyTool, b: AnyTool): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** Sorts the keys of all objects, so that equal schemas give equal texts. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, part]) => [key, sortKeys(part)]));
}

/** Names of this catalogue that were revealed to the model in this thread. */
export function findPromotedNames(catalog: DeferredCatalog, { promoted }: ThreadState): ReadonlySet<string> {
  return new Set(promoted?.catalog_hash === catalog.hash ? promoted.names : []);
}

/** Names that the model may neither see nor call. */
export function findHiddenNames(catalog: DeferredCatalog, state: ThreadState): ReadonlySet<string> {
  const promoted = findPromotedNames(catalog, state);
  return new Set(catalog.tools.flatMap(({ name }) => (promoted.has(name) ? [] : [name])));
}

/**
 * The prompt's list of tools that can be looked up: names only, sorted and escaped, so that a server's tool cannot open
 * or close a section. Undefined when there are none.
 */
export function formatDeferredTools(names: readonly string[]): string | undefined {
  const lines = [...new Set(names)].sort().map((name) => escapeMarkup(name.replace(/[\p{Cc}\s]+/gu, ' ')));
  return lines.length === 0 ? undefined : lines.join('\n');
}
