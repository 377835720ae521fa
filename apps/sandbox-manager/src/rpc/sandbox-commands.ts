import {
  InvalidRequestError,
  type ReceivedSandboxWrite,
  type OutputPiece,
  SandboxExec,
  type SandboxRead,
  type SandboxReadBytes,
  SandboxWrite,
} from '@caribou/contracts';
import { type Clock, type ThreadKey, utf8Text } from '@caribou/core';
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
type WriteRequest = z.output<(typeof ReceivedSandboxWrite)['request']>;
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

/** Publishes the output of running commands. */
export interface OutputPublisher {
  publishOutput(command: ThreadKey & { readonly key: string }, piece: OutputPiece): void;
}

/** Creates the execution of a command. @throws {InvalidRequestError} for a command that the kernel would reject */
export function createCommandExecution(
  request: ExecRequest,
  outputs: OutputPublisher,
  clock: Clock,
): Execution<ExecReply> {
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
      const target = { ...threadOf(request), key: request.key };
      const live = new LiveOutput({ publish: (piece) => outputs.publishOutput(target, piece), clock });
      try {
        return toExecReply(await sandbox.driver.exec(sandbox.spec, { ...command, onOutput: live.push }, signal));
      } finally {
        live.end();
      }
    },
    unknown: (reason) => ({ outcome: 'unknown', reason }),
    parse: (stored) => SandboxExec.reply.parse(stored),
  };
}

/** The message of a refusal, which only an exceeded quota has. */
export const refusalMessage = (error: FileRefusedError): { readonly message?: string } =>
  error instanceof QuotaExceededError ? { message: error.message } : {};

type WriteRefusal = Extract<WriteReply, { outcome: 'refused' }>['reason'];

/**
 * The reason of a refused write; `not_found` and `binary`, which a write's reply does not have, become `not_regular`.
 */
const toWriteRefusal = (reason: FileRefusal): WriteRefusal =>
  reason === 'not_found' || reason === 'binary' ? 'not_regular' : reason;

/** Creates the execution of a write. A refusal is a result like any other, not an error. */
export function createWriteExecution(
  request: WriteRequest,
  files: ThreadFiles,
  locks: PathLocks,
): Execution<WriteReply> {
  const thread = threadOf(request);
  return {
    ...identityOf(request),
    kind: 'write',
    paths: [request.path],
    run: () => locks.hold(thread, request.path, () => write(request, thread, files)),
    unknown: (reason) => ({ outcome: 'unknown', reason }),
    parse: (stored) => SandboxWrite.reply.parse(stored),
  };
}

/** An attached content is UTF-8 of the text. */
function bytesOf(content: string | Uint8Array, encoding: 'utf8' | 'base64'): Uint8Array {
  if (typeof content === 'string') return Buffer.from(content, encoding);
  return encoding === 'utf8' ? content : Buffer.from(utf8Text(content), encoding);
}

async function write(
  { path, content, encoding = 'utf8', append, expected }: WriteRequest,
  thread: ThreadKey,
  files: ThreadFiles,
): Promise<WriteReply> {
  const bytes = bytesOf(content, encoding);
  try {
    if (expected !== undefined && !(await isAsExpected(files, { thread, path }, expected)))
      return { outcome: 'refused', reason: 'changed' };
    const done = append ? await files.append(thread, path, bytes) : await files.replace(thread, path, bytes);
    return { outcome: 'ok', bytes: done };
  } catch (error) {
    if (error instanceof FileRefusedError)
      return { outcome: 'refused', reason: toWriteRefusal(error.reason), ...refusalMessage(error) };
    throw error;
  }
}

type ReadRefusal = Extract<ReadReply, { outcome: 'refused' }>['reason'];
const toReadRefusal = (reason: FileRefusal): ReadRefusal => (reason === 'no_space' ? 'permission' : reason);

/** The requested lines of a file. Reads change nothing, so they are not recorded in the journal. */
export async function readFileLines(request: ReadRequest, files: ThreadFiles): Promise<ReadReply> {
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
    if (error instanceof FileRefusedError) return { outcome: 'refused', reason: toReadRefusal(error.reason) };
    throw error;
  }
}

type BytesRefusal = Extract<BytesReply, { outcome: 'refused' }>['reason'];
/** The reason of a refused read of bytes; reasons that apply only to text become `not_regular`. */
const toBytesRefusal = (reason: FileRefusal): BytesRefusal =>
  reason === 'binary' || reason === 'too_large' || reason === 'no_space' ? 'not_regular' : reason;

/** The requested bytes of a file, and the size of the file when they were read. */
export async function readFileBytes(request: BytesRequest, files: ThreadFiles): Promise<BytesReply> {
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
    if (error instanceof FileRefusedError) return { outcome: 'refused', reason: toBytesRefusal(error.reason) };
    throw error;
  }
}
