import { createHash } from 'node:crypto';
import { AppError } from '@caribou/contracts';
import { type RunContext, type SandboxPort, VIRTUAL_ROOT } from '@caribou/core';
import { splitsPair } from './result-cut.js';

/** Not shown by listings and searches of what lies above it (libs/files/src/lookup/ignored-names.ts). */
const FOLDER = `${VIRTUAL_ROOT}/outputs/.tool-results`;
/** Characters in one write: at most three bytes each, and six in JSON, where a message of the bus has 8 MB. */
const PART_CHARS = 256 * 1024;
const MAX_PARTS = 32;
/** For all parts of a result, a sandbox to be made first included. */
const WRITE_TIMEOUT_MS = 20_000;
const MAX_NAME_CHARS = 40;

export interface FiledResult {
  readonly path: string;
  /** Characters in the file. */
  readonly chars: number;
  /** Whether the file has all of the result. */
  readonly whole: boolean;
}

/** Why a result is in no file, in a few words. */
export interface NotFiled {
  readonly reason: string;
}

interface Result {
  readonly call: { readonly name: string; readonly id: string };
  readonly text: string;
  readonly run: RunContext;
  readonly timeoutMs?: number;
}

/**
 * Writes a result into a file of the thread, in a sandbox made for it when the run has none. The key holds the text's hash:
 * a takeover that comes to the same result writes nothing again, one that comes to another replaces the file.
 *
 * @throws the signal's reason when the run was aborted; {FencedError} when it was lost.
 */
export async function fileResult(
  sandbox: Pick<SandboxPort, 'write'>,
  { call, text, run, timeoutMs = WRITE_TIMEOUT_MS }: Result,
): Promise<FiledResult | NotFiled> {
  const path = `${FOLDER}/${fileName(run.runId, call)}`;
  const scope = { userId: run.userId, threadId: run.threadId, epoch: run.epoch };
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([run.signal, late]);
  // A file with zero characters would be read as a binary one.
  const clean = text.replaceAll('\0', '');
  const parts = partsOf(clean);
  if (parts.length === 0) return { reason: 'it holds no text' };
  const key = `${run.runId}:${call.id}:result:${hashOf(text)}`;
  try {
    for (const [at, content] of parts.entries()) {
      const written = await sandbox.write(scope, { key: `${key}.${at}`, path, content, append: at > 0 }, signal);
      if (written.outcome !== 'ok') return { reason: written.reason.replaceAll('_', ' ') };
    }
    const chars = parts.reduce((sum, part) => sum + part.length, 0);
    return { path, chars, whole: chars === clean.length };
  } catch (error) {
    run.signal.throwIfAborted();
    if (!late.aborted && (!(error instanceof AppError) || error.code === 'fenced')) throw error;
    run.logger.warn({ error, tool: call.name }, 'a large result could not be written to a file');
    return { reason: 'no sandbox answered' };
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** Of plain characters whatever the tool and the call are named, and another for each call. */
function fileName(runId: string, { name, id }: Result['call']): string {
  const plain = (text: string): string => text.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_NAME_CHARS);
  return `${plain(name)}-${plain(id)}-${hashOf(`${runId}:${id}`)}.txt`;
}

/** The text, or its beginning, in pieces that one write takes. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length && parts.length < MAX_PARTS; ) {
    const to = from + PART_CHARS;
    const part = text.slice(from, splitsPair(text, to) ? to - 1 : to);
    parts.push(part);
    from += part.length;
  }
  return parts;
}
