import { open } from 'node:fs/promises';
import { isRecord } from '@caribou/contracts';

/** The content of the operator's extensions_config.json. */
export interface ExtensionsContent {
  /** The unvalidated JSON object; empty when there is no file. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Why the file cannot be used, without its text; `content` is then the last valid one. */
  readonly problem?: string;
}

export interface ExtensionsFile {
  /** Returns the current content; an unchanged file is not read again. Never rejects. */
  read(): Promise<ExtensionsContent>;
}

/**
 * Age of the content that a run may use, in milliseconds. Every run asks for the file, and each look at it occupies a
 * thread of Node's pool, so runs that start within this time share one.
 */
export const EXTENSIONS_MAX_AGE_MS = 50;

const MAX_BYTES = 1024 * 1024;
const NOTHING: ExtensionsContent = { content: {} };

/** A reader that reads the file again after each change: operators edit it while the system runs. */
export function extensionsFile(path: string): ExtensionsFile {
  let known = NOTHING;
  let version = '';
  return {
    async read() {
      const found = await readIfChanged(path, version);
      if (found === 'unchanged') return known;
      version = found.version;
      known =
        'problem' in found
          ? { content: known.content, problem: `${path}: ${found.problem}` }
          : { content: found.content };
      return known;
    },
  };
}

type Found = { readonly version: string } & (
  | { readonly content: Readonly<Record<string, unknown>> }
  | { readonly problem: string }
);

/** Reads the file unless it still has the given version (modification time, size and inode). */
async function readIfChanged(path: string, version: string): Promise<Found | 'unchanged'> {
  try {
    const file = await open(path, 'r');
    try {
      const { mtimeMs, size, ino } = await file.stat();
      const now = [mtimeMs, size, ino].join(':');
      if (now === version) return 'unchanged';
      if (size > MAX_BYTES) return { version: now, problem: `must be a file of at most ${MAX_BYTES} bytes` };
      return { version: now, ...parseObject(await file.readFile('utf8')) };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    if (code === 'ENOENT') return version === 'none' ? 'unchanged' : { version: 'none', content: {} };
    return version === code ? 'unchanged' : { version: code, problem: `cannot be read (${code})` };
  }
}

/** Parses a JSON object without quoting the parser's message, whose excerpt of the text may hold a secret. */
function parseObject(
  text: string,
): { readonly content: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? { content: value } : { problem: 'must hold an object' };
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'is not valid JSON' };
    throw error;
  }
}

/** The code of a system error; `instanceof` would miss errors of other realms. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
