import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ExtensionError } from '@caribou/contracts';
import { importModule } from './import-module.js';
import { toolkit } from './toolkit.js';

const LOAD_TIMEOUT_MS = 30_000;
const MAX_DETAIL_CHARS = 500;

export interface LoadOptions {
  /** Loads a module by its URL. */
  readonly load?: (url: string) => Promise<unknown>;
  /** Timeout for each entry. */
  readonly timeoutMs?: number;
}

/** An export of the operator's code: `/absolute/file.mjs#export`, and the options for it. */
export interface ExportEntry {
  readonly use: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The value that the export returned, or the error of the entry. */
export type LoadedExport = { readonly value: unknown } | { readonly fault: string };

/** Calls the exported function of an entry with the toolkit and its options; never rejects. */
export function loadExport(
  entry: ExportEntry,
  { load = importModule, timeoutMs = LOAD_TIMEOUT_MS }: LoadOptions,
): Promise<LoadedExport> {
  return within(timeoutMs, loadAndCall(entry, load));
}

async function within(timeoutMs: number, work: Promise<LoadedExport>): Promise<LoadedExport> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<LoadedExport>((resolve) => {
    timer = setTimeout(() => resolve({ fault: `it was not loaded within ${timeoutMs} ms` }), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function loadAndCall(
  { use, options }: ExportEntry,
  load: (url: string) => Promise<unknown>,
): Promise<LoadedExport> {
  const at = use.lastIndexOf('#');
  const [path, name] = [use.slice(0, at), use.slice(at + 1)];
  if (at < 0 || !isAbsolute(path)) return { fault: 'must be an absolute path, # and the name of an export' };
  const { href } = pathToFileURL(path);
  const exports = await attempt(() => load(href));
  if ('error' in exports) {
    const { error } = exports;
    return { fault: isMissing(error, href) ? `there is no file ${path}` : `it cannot be loaded: ${errorText(error)}` };
  }
  const factory = exportOf(exports.value, name);
  if (typeof factory !== 'function') return { fault: factory };
  const made = await attempt(() => factory(toolkit, options));
  return 'error' in made ? { fault: errorText(made.error) } : made;
}

type Factory = (caribou: typeof toolkit, options: Readonly<Record<string, unknown>>) => unknown;
const isFactory = (value: unknown): value is Factory => typeof value === 'function';

/** The exported function with a name, or an error text. */
function exportOf(module: unknown, name: string): Factory | string {
  const exports = new Map<string, unknown>(Object.entries(module ?? {}));
  if (!exports.has(name)) return `it has no export ${name}; it has ${[...exports.keys()].join(', ') || 'none'}`;
  const value = exports.get(name);
  return isFactory(value) ? value : `its export ${name} is not a function`;
}

/** Catches whatever external code throws; it is the reason why the entry cannot be used. */
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
function errorText(error: unknown): string {
  if (error instanceof ExtensionError) return error.message;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replace(/\s+/g, ' ').slice(0, MAX_DETAIL_CHARS);
}
