import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AppError, DeadlineError, fromWireError, TooLargeError, UnavailableError } from '@caribou/contracts';
import { type ConversionJob, ConversionReply, maxReplyBytes, REPLY_DESCRIPTOR } from './conversion-job.js';
import type { DocumentLimits } from '../limits.js';
import { startLimited } from './start-limited.js';

/** A file's bytes, complete or as a stream. */
export type DocumentSource = Uint8Array | AsyncIterable<Uint8Array>;

export interface Conversion {
  readonly job: ConversionJob;
  readonly program: string;
  readonly signal: AbortSignal | undefined;
}

/** Signals with which V8 and malloc terminate a process that is out of memory. */
const outOfMemory: readonly string[] = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV'];

async function* limitInput(file: DocumentSource, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of file instanceof Uint8Array ? [file] : file) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new TooLargeError(`the file is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}

async function collectReply(stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes) throw new TooLargeError(`the Markdown is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Whether the process closed its input because it ended early; its reply or exit has the reason. */
const isClosedInput = (error: unknown) =>
  typeof error === 'object' &&
  error !== null &&
  'code' in error &&
  ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(String(error.code));

async function sendDocument(child: ChildProcess, file: DocumentSource, maxBytes: number): Promise<void> {
  if (child.stdin === null) throw new UnavailableError('the conversion process has no input');
  try {
    await pipeline(Readable.from(limitInput(file, maxBytes)), child.stdin);
  } catch (error) {
    if (!isClosedInput(error)) throw error;
  }
}

function withoutReply(child: ChildProcess, limits: DocumentLimits): AppError {
  if (child.signalCode === 'SIGXCPU') return new DeadlineError('the conversion took too much processor time');
  if (child.signalCode !== null && outOfMemory.includes(child.signalCode)) {
    return new TooLargeError(`the conversion needs more than ${limits.maxHeapMib} MiB of memory`);
  }
  return new UnavailableError('the conversion process ended without a reply', {
    details: { exitCode: child.exitCode, signal: child.signalCode },
  });
}

function markdownOf(reply: Buffer, child: ChildProcess, limits: DocumentLimits): string {
  if (reply.length === 0) throw withoutReply(child, limits);
  const parsed = ConversionReply.parse(JSON.parse(reply.toString()));
  if ('error' in parsed) throw fromWireError(parsed.error);
  return parsed.markdown;
}

/** Runs one job in a separate process, which has ended when this settles. @throws as `DocumentConverter.toMarkdown` */
export async function runConversion(file: DocumentSource, { job, program, signal }: Conversion): Promise<string> {
  const { limits } = job;
  const child = await startLimited(program, job);
  const exited = once(child, 'exit');
  const ended = new AbortController();
  const timer = setTimeout(() => {
    ended.abort(
      new DeadlineError(`the conversion took longer than ${limits.deadlineMs} ms`, {
        details: { afterMs: limits.deadlineMs },
      }),
    );
  }, limits.deadlineMs);
  const onAbort = () => ended.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = () => reject(ended.signal.reason);
    if (ended.signal.aborted) stop();
    else ended.signal.addEventListener('abort', stop, { once: true });
  });
  try {
    const output = child.stdio[REPLY_DESCRIPTOR] as Readable;
    const done = Promise.all([
      collectReply(output, maxReplyBytes(limits)),
      sendDocument(child, file, limits.maxInputBytes),
      exited,
    ]);
    const [reply] = await Promise.race([done, stopped]);
    return markdownOf(reply, child, limits);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await exited;
    }
  }
}
