import { Injectable } from '@nestjs/common';
import { AppError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { FastifyReply } from 'fastify';
import { Dependency } from '../../dependency.js';
import { addQuota } from '../../http/rate-limit-headers.js';
import { endRefusals } from '../../http/retry-estimates.js';
import { OpenStreams } from './open-streams.js';
import { ResponseGone, SseWriter, type WriterOptions } from './sse-writer.js';

/** Time after which a connection is closed whose reader does not accept a write. */
export const STALL_MS = 30_000;

/** Headers and heartbeat of an event stream. */
export const EVENT_STREAM = {
  headers: {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  },
  beat: ': heartbeat\n\n',
} as const;

export interface StreamClient {
  readonly userId: string;
  readonly reply: FastifyReply;
}

/** A long response, once what it shows was found. */
export interface LongAnswer extends Omit<WriterOptions, 'stallMs' | 'slowReaders'> {
  /** Fields of its log lines. */
  readonly about: { readonly threadId: string; readonly runId?: string };
  write(writer: SseWriter): Promise<void>;
  /** Called when the client has left; not when the gateway has cut it off. */
  readonly onLeft?: () => Promise<void>;
}

/** Writes long responses: counted for each user, and broken off when the process stops. */
@Injectable()
export class LongAnswers {
  constructor(
    @Dependency('logger') private readonly logger: Logger,
    private readonly open: OpenStreams,
  ) {}

  /**
   * Counts the response, finds what it shows, and writes it; an error during the writing breaks off the connection.
   *
   * @throws {RateLimitedError} when the user has too many long answers open; `find` is not called then
   */
  async respond({ userId, reply }: StreamClient, find: () => Promise<LongAnswer>): Promise<void> {
    const release = this.open.registry.take(userId);
    addQuota(reply, this.open.registry.useOf(userId));
    try {
      const answer = await find();
      const headers = Object.assign(headersOf(reply), answer.headers);
      endRefusals(reply.request);
      reply.hijack();
      if (reply.request.method === 'HEAD') reply.raw.writeHead(200, headers).end();
      else {
        const options = { ...answer, headers, stallMs: STALL_MS, slowReaders: this.open.slowReaders };
        await this.write(answer, new SseWriter(reply.raw, options));
      }
    } finally {
      release();
    }
  }

  private async write(answer: LongAnswer, writer: SseWriter): Promise<void> {
    const remove = this.open.registry.add(writer);
    try {
      await answer.write(writer);
    } catch (error) {
      if (error instanceof ResponseGone) {
        const left = { event: 'stream.left', ...answer.about, reason: error.reason };
        if (error.reason === 'slow')
          this.logger.warn(left, 'a slow reader was cut off: too much waits for slow readers');
        else this.logger.debug(left, 'the client is gone');
        if (causedByClient(error)) await this.afterLeaving(answer);
      } else {
        this.logger.error({ event: 'stream.broke', ...answer.about, error }, 'the stream broke');
        writer.cut('shutdown');
      }
    } finally {
      remove();
    }
  }

  private async afterLeaving({ about, onLeft }: LongAnswer): Promise<void> {
    try {
      await onLeft?.();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.logger.warn({ event: 'stream.left', ...about, error }, 'the run could not be cancelled');
    }
  }
}

/** Whether the client has left, and the gateway has not cut it off. */
const causedByClient = ({ reason }: ResponseGone): boolean => reason === 'client' || reason === 'stalled';

/** Headers that hooks have already set, mainly those of CORS. */
function headersOf(reply: FastifyReply): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(reply.getHeaders())) headers[name] = String(value);
  return headers;
}
