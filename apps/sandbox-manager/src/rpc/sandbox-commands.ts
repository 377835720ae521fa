import {
  InvalidRequestError,
  type OutputPiece,
  SandboxExec,
  type SandboxRead,
  type SandboxReadBytes,
  SandboxWrite,
} from '@caribou/contracts';
import type { Clock, ThreadKey } from '@caribou/core';
import {
  type FileRefusal,
  FileRefusedError,
  QuotaExceededError,
  readTextRange,
  type ThreadFiles,
} from '@caribou/files';
import { type CommandResult, MAX_COMMAND_BYTES } from '@caribou/sandbox';
import type { z } from 'zod';
import { type Execution, ExecutionEnded } from '../executions/execution.js';
import { isAsExpected } from './file-expectation.js';
import { LiveOutput } from './live-output.js';
import type { PathLocks } from './path-locks.js';

type ExecRequest = z.output<(typeof SandboxExec)['request']>;
type ExecReply = z.output<(typeof SandboxExec)['reply']>;
type ReadRequest = z.output<(typeof SandboxRead)['request']>;
type ReadReply = z.output<(typeof SandboxRead)['reply']>;
type BytesRequest = z.output<(typeof SandboxReadBytes)['request']>;
type BytesReply = z.output<(typeof SandboxReadBytes)['reply']>;
type WriteRequest = z.output<(typeof SandboxWrite)['request']>;
type WriteReply = z.output<(typeof SandboxWrite)['reply']>;

export const threadOf = (request: { readonly user_id: string; readonly thread_id: string }): ThreadKey => ({
  userId: request.user_id,
  threadId: request.thread_id,
});

interface KeyedRequest {
  readonly user_id: string;
  readonly thread_id: string;
  readonly sandbox_id: string;
  readonly epoch: number;
  readonly key: string;
  readonly args_hash: string;
}

export const identityOf = (request: KeyedRequest) => ({
  thread: threadOf(request),
  sandboxId: request.sandbox_id,
  epoch: request.epoch,
  key: request.key,
  argsHash: request.args_hash,
});

const OUTPUT_NOTICE = '\n[ended: more output than any command may write]\n';

function toExecReply(result: CommandResult): ExecReply {
  return {
    outcome: 'done',
    exit_code: result.exitCode,
    stdout: result.stdout,
    stderr: result.endedBy === 'output' ? result.stderr + OUTPUT_NOTICE : result.stderr,
    truncated_bytes: result.truncatedBytes,
    timed_out: result.endedBy === 'timeout',
    cancelled: result.endedBy === 'cancel',
    duration_ms: Math.round(result.durationMs),
  };
}

/** The reply for a command that was cancelled before it began. */
const NOT_STARTED: ExecReply = {
  outcome: 'done',
  exit_code: 137,
  stdout: '',
  stderr: '',
  truncated_bytes: 0,
  timed_out: false,
  cancelled: true,
  duration_ms: 0,
};

/** Where it is told what running commands write. */
export interface OutputPublisher {
  publishOutput(command: ThreadKey & { readonly key: string }, piece: OutputPiece): void;
}

/** A command as an execution. @throws {InvalidRequestError} for one that no kernel would take */
export function execution(request: ExecRequest, outputs: OutputPublisher, clock: Clock): Execution<ExecReply> {
  if (Buffer.byteLength(request.command) > MAX_COMMAND_BYTES || request.command.includes('\0')) {
    throw new InvalidRequestError(`command: at most ${MAX_COMMAND_BYTES} bytes, none of them zero`);
  }
  const command = { command: request.command, timeoutMs: request.timeout_ms, maxOutputBytes: request.max_output_bytes };
  return {
    ...identityOf(request),
    kind: 'exec',
    run: async (sandbox, signal) => {
      if (signal.aborted && signal.reason instanceof ExecutionEnded && signal.reason.by === 'cancel')
        return NOT_STARTED;
      const named = { ...threadOf(request), key: request.key };
      const live = new LiveOutput({ publish: (piece) => outputs.publishOutput(named, piece), clock });
      try {
        return toExecReply(await sandbox.driver.exec(sandbox.spec, { ...command, onOutput: live.push }, signal));
      } finally {
        live.end();
      }
    },
    unknown: (reason) => ({ outcome: 'unknown', reason }),
    parse: (kept) => SandboxExec.reply.parse(kept),
  };
}

/** What a refusal says besides its reason. */
export const refusalMessage = (error: FileRefusedError): { readonly message?: string } =>
  error instanceof QuotaExceededError ? { message: error.message } : {};

type WriteRefusal = Extract<WriteReply, { outcome: 'refused' }>['reason'];

/**
 * A file that vanished while it was written, or is binary, is none of the reasons a write has: it is no file to write
 * to.
 */
const writeRefusal = (reason: FileRefusal): WriteRefusal =>
  reason === 'not_found' || reason === 'binary' ? 'not_regular' : reason;

/** A write as an execution: a refusal is a result like any other. */
export function fileWrite(request: WriteRequest, files: ThreadFiles, locks: PathLocks): Execution<WriteReply> {
  const thread = threadOf(request);
  return {
    ...identityOf(request),
    kind: 'write',
    run: () => locks.hold(thread, request.path, () => written(request, thread, files)),
    unknown: (reason) => ({ outcome: 'unknown', reason }),
    parse: (kept) => SandboxWrite.reply.parse(kept),
  };
}

async function written(
  { path, content, encoding = 'utf8', append, expected }: WriteRequest,
  thread: ThreadKey,
  files: ThreadFiles,
): Promise<WriteReply> {
  const bytes = Buffer.from(content, encoding);
  try {
    if (expected !== undefined && !(await isAsExpected(files, { thread, path }, expected)))
      return { outcome: 'refused', reason: 'changed' };
    const done = append ? await files.append(thread, path, bytes) : await files.replace(thread, path, bytes);
    return { outcome: 'ok', bytes: done };
  } catch (error) {
    if (error instanceof FileRefusedError)
      return { outcome: 'refused', reason: writeRefusal(error.reason), ...refusalMessage(error) };
    throw error;
  }
}

type ReadRefusal = Extract<ReadReply, { outcome: 'refused' }>['reason'];
const readRefusal = (reason: FileRefusal): ReadRefusal => (reason === 'no_space' ? 'permission' : reason);

/** The lines of a file that the request asks for. Reads change nothing and are not journalled. */
export async function fileRead(request: ReadRequest, files: ThreadFiles): Promise<ReadReply> {
  try {
    const handle = await files.openFile(threadOf(request), request.path);
    try {
      const range = { startLine: request.start_line, endLine: request.end_line, maxBytes: request.max_bytes };
      const { text, totalBytes, totalLines, truncated, sha256 } = await readTextRange(handle, request.path, range);
      return { outcome: 'ok', text, total_bytes: totalBytes, total_lines: totalLines, truncated, sha256 };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof FileRefusedError) return { outcome: 'refused', reason: readRefusal(error.reason) };
    throw error;
  }
}

type BytesRefusal = Extract<BytesReply, { outcome: 'refused' }>['reason'];
/** The other reasons belong to text. */
const bytesRefusal = (reason: FileRefusal): BytesRefusal =>
  reason === 'binary' || reason === 'too_large' || reason === 'no_space' ? 'not_regular' : reason;

/** The bytes of a file that the request asks for, and its size when they were read. */
export async function fileBytes(request: BytesRequest, files: ThreadFiles): Promise<BytesReply> {
  try {
    const handle = await files.openFile(threadOf(request), request.path);
    try {
      const { size } = await handle.stat();
      const length = Math.min(request.max_bytes, Math.max(size - request.offset, 0));
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, request.offset);
      const base64 = buffer.subarray(0, bytesRead).toString('base64');
      return { outcome: 'ok', base64, bytes: bytesRead, total_bytes: size };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof FileRefusedError) return { outcome: 'refused', reason: bytesRefusal(error.reason) };
    throw error;
  }
}
