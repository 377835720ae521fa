import { open } from 'node:fs/promises';
import { isRecord } from '../common/findings.js';

/** What stands in the operator's extensions_config.json. */
export interface ExtensionsContent {
  /** Its object as it was written; empty when there is no file. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Why it cannot be used now, without its text; `content` is then what was read before. */
  readonly problem?: string;
}

export interface ExtensionsFile {
  /** The file as it is now; an unchanged one is not read again. Never rejects. */
  read(): Promise<ExtensionsContent>;
}

const MAX_BYTES = 1024 * 1024;
const NOTHING: ExtensionsContent = { content: {} };

/** Reads the file whenever it has changed: an operator edits it while the system runs. */
export function extensionsFile(path: string): ExtensionsFile {
  let known = NOTHING;
  let mark = '';
  return {
    async read() {
      const found = await look(path, mark);
      if (found === 'unchanged') return known;
      mark = found.mark;
      known =
        'problem' in found
          ? { content: known.content, problem: `${path}: ${found.problem}` }
          : { content: found.content };
      return known;
    },
  };
}

type Found = { readonly mark: string } & (
  | { readonly content: Readonly<Record<string, unknown>> }
  | { readonly problem: string }
);

/** What the file says, unless it is the one that `mark` stands for. */
async function look(path: string, mark: string): Promise<Found | 'unchanged'> {
  try {
    const file = await open(path, 'r');
    try {
      const { mtimeMs, size, ino } = await file.stat();
      const now = [mtimeMs, size, ino].join(':');
      if (now === mark) return 'unchanged';
      if (size > MAX_BYTES) return { mark: now, problem: `must be a file of at most ${MAX_BYTES} bytes` };
      return { mark: now, ...parsed(await file.readFile('utf8')) };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    if (code === 'ENOENT') return mark === 'none' ? 'unchanged' : { mark: 'none', content: {} };
    return mark === code ? 'unchanged' : { mark: code, problem: `cannot be read (${code})` };
  }
}

/** The parser's own words quote the text, which may hold a secret. */
function parsed(text: string): { readonly content: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? { content: value } : { problem: 'must hold an object' };
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'is not valid JSON' };
    throw error;
  }
}

/** Of errors of the system: they have one, whatever realm they are from. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
