import { createHash } from 'node:crypto';
import { AppError } from '@caribou/contracts';
import { type RunContext, type SandboxPort, VIRTUAL_ROOT } from '@caribou/core';
import { splitsPair } from './result-cut.js';

/** Hidden from listings and searches of parent directories (libs/files/src/lookup/ignored-names.ts). */
const FOLDER = `${VIRTUAL_ROOT}/outputs/.tool-results`;
/**
 * Characters in one write: each takes at most three bytes, or six in JSON, and a message of the bus has at most 8 MB.
 */
const PART_CHARS = 256 * 1024;
const MAX_PARTS = 32;
/** Timeout for writing all parts of a result, including the creation of a sandbox. */
const WRITE_TIMEOUT_MS = 20_000;
const MAX_NAME_CHARS = 40;

export interface FiledResult {
  readonly path: string;
  /** Characters in the file. */
  readonly chars: number;
  /** Whether the file contains the complete result. */
  readonly whole: boolean;
}

/** Why a result was not written to a file. */
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
 * Writes a result into a file of the thread, acquiring a sandbox if the run has none. The key contains the text's hash:
 * a takeover with the same result does not write again, one with another result replaces the file.
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
  // A file with NUL characters would be treated as binary.
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

/** A file name of plain characters that is unique for each call. */
function fileName(runId: string, { name, id }: Result['call']): string {
  const plain = (text: string): string => text.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_NAME_CHARS);
  return `${plain(name)}-${plain(id)}-${hashOf(`${runId}:${id}`)}.txt`;
}

/** Divides the text, or its beginning, into parts for single writes. */
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
