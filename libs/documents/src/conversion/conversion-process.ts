import { Socket } from 'node:net';
import { AppError, InvalidRequestError, TooLargeError, toWireError } from '@caribou/contracts';
import { type ConversionJob, type ConversionReply, REPLY_DESCRIPTOR } from './conversion-job.js';
import { convert } from './convert.js';

/**
 * The program of the conversion process: one file on standard input, one reply, end. It has no secrets and no
 * connections; its parent sets the limits of memory and time and reads only the reply.
 */

const MAX_REASON_CHARS = 200;

async function standardInput(maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new TooLargeError(`the file is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Converts a parser's error into an error of the file, with the parser's message. */
function asAppError(error: unknown, kind: string): AppError {
  if (error instanceof AppError) return error;
  const said = error instanceof Error ? error.message : String(error);
  // Node's message for a read outside a buffer does not describe the file.
  const reason =
    error instanceof RangeError ? 'something in it lies outside the file' : said.slice(0, MAX_REASON_CHARS);
  return new InvalidRequestError(`the file could not be read as ${kind}: ${reason}`, { cause: error });
}

async function replyTo(job: ConversionJob): Promise<ConversionReply> {
  try {
    return { markdown: await convert(await standardInput(job.limits.maxInputBytes), job) };
  } catch (error) {
    return { error: toWireError(asAppError(error, job.kind)) };
  }
}

async function main(): Promise<void> {
  const reply = await replyTo(JSON.parse(process.argv[2] ?? '') as ConversionJob);
  new Socket({ fd: REPLY_DESCRIPTOR }).end(JSON.stringify(reply), () => process.exit(0));
}

void main();
