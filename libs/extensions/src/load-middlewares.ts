import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '@caribou/config';
import { ExtensionError } from '@caribou/contracts';
import type { AgentMiddleware } from '@caribou/core';
import { importModule } from './import-module.js';
import { CustomMiddleware } from './toolkit-made.js';
import { toolkit } from './toolkit.js';

const LOAD_TIMEOUT_MS = 30_000;
const MAX_DETAIL_CHARS = 500;

/** An entry of `extensions.middlewares`: `/absolute/file.mjs#export`, and what the export is handed. */
export interface MiddlewareEntry {
  readonly use: string;
  readonly options: Readonly<Record<string, unknown>>;
}

export interface LoadOptions {
  /** Loads a module by its URL. */
  readonly load?: (url: string) => Promise<unknown>;
  /** For each entry. */
  readonly timeoutMs?: number;
}

/**
 * The custom middlewares of the config, in its order.
 *
 * @throws {ConfigError} with a line for each entry that cannot be used, naming it and why
 */
export async function loadMiddlewares(
  entries: readonly MiddlewareEntry[],
  { load = importModule, timeoutMs = LOAD_TIMEOUT_MS }: LoadOptions = {},
): Promise<readonly AgentMiddleware[]> {
  const loaded: AgentMiddleware[] = [];
  const faults: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const outcome = await within(timeoutMs, middlewareOf(entry, load));
    const fault = typeof outcome === 'string' ? outcome : sameName(outcome, loaded);
    if (typeof outcome !== 'string') loaded.push(outcome);
    if (fault !== undefined) faults.push(`extensions.middlewares[${index}] (${entry.use}): ${fault}`);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return loaded;
}

/** The result, or the words for a wait that took too long. */
async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T | string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`it was not loaded within ${timeoutMs} ms`), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The middleware of an entry, or what is wrong with it. */
async function middlewareOf(
  { use, options }: MiddlewareEntry,
  load: (url: string) => Promise<unknown>,
): Promise<AgentMiddleware | string> {
  const at = use.lastIndexOf('#');
  const [path, name] = [use.slice(0, at), use.slice(at + 1)];
  if (at < 0 || !isAbsolute(path)) return 'must be an absolute path, # and the name of an export';
  const { href } = pathToFileURL(path);
  const exports = await attempt(() => load(href));
  if ('error' in exports)
    return isMissing(exports.error, href) ? `there is no file ${path}` : `it cannot be loaded: ${told(exports.error)}`;
  const factory = exportOf(exports.value, name);
  if (typeof factory !== 'function') return factory;
  const made = await attempt(() => factory(toolkit, options));
  if ('error' in made) return told(made.error);
  return made.value instanceof CustomMiddleware
    ? made.value.middleware
    : `${name} must return what defineMiddleware gives`;
}

type Factory = (caribou: typeof toolkit, options: Readonly<Record<string, unknown>>) => unknown;
const isFactory = (value: unknown): value is Factory => typeof value === 'function';

/** The function a module exports under a name, or what is wrong. */
function exportOf(module: unknown, name: string): Factory | string {
  const exports = new Map<string, unknown>(Object.entries(module ?? {}));
  if (!exports.has(name)) return `it has no export ${name}; it has ${[...exports.keys()].join(', ') || 'none'}`;
  const value = exports.get(name);
  return isFactory(value) ? value : `its export ${name} is no function`;
}

/** The wall around code that is not ours: whatever it throws is a reason why the entry cannot be used. */
async function attempt(work: () => unknown): Promise<{ readonly value: unknown } | { readonly error: unknown }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** Whether the module itself is missing, and not one that it imports. */
const isMissing = (error: unknown, href: string): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  'url' in error &&
  error.url === href;

/** An error in one line. */
function told(error: unknown): string {
  if (error instanceof ExtensionError) return error.message;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replace(/\s+/g, ' ').slice(0, MAX_DETAIL_CHARS);
}

function sameName(middleware: AgentMiddleware, before: readonly AgentMiddleware[]): string | undefined {
  if (before.some(({ name }) => name === middleware.name)) return `there is another middleware '${middleware.name}'`;
  const names = before.flatMap(({ tools = [] }) => tools.map(({ name }) => name));
  for (const { name } of middleware.tools ?? []) {
    if (names.includes(name)) return `there is another tool '${name}'`;
    names.push(name);
  }
  return undefined;
}
