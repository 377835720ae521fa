import { isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';
import type { EventSourceMessage } from 'eventsource-parser';
import { DeltaQueue } from './delta-queue.js';
import { EventDecoder } from './event-decoder.js';
import type { Answer } from './exchange.js';
import { FrameParser } from './frame-parser.js';
import type { AnswerReader, ParsedChunk } from './answer-reader.js';
import { failure, type FailureReason, streamFailure } from './provider-error.js';
import type { ProviderText } from './provider-text.js';

export interface AnswerOptions {
  /** The model's configured name, for errors. */
  readonly model: string;
  /** Extracts the provider's text from a failure inside the stream. */
  readonly textOf: ProviderText;
  readonly firstByteMs: number;
  readonly chunkMs: number;
  readonly limits: AnswerLimits;
  readonly reader: AnswerReader;
  readonly signal: AbortSignal;
  /** Sends the request and resolves with a 2xx answer; the signal closes the connection. */
  readonly request: (signal: AbortSignal) => Promise<Answer>;
  readonly onEnded: (end: AnswerEnd) => void;
}

export interface AnswerLimits {
  /** Characters of text, reasoning and arguments; a longer answer ends as if it had reached the model's own limit. */
  readonly chars: number;
  /** Bytes of one event; a larger one fails the answer. */
  readonly eventBytes: number;
  /** Bytes of all events; more bytes fail the answer. */
  readonly wireBytes: number;
  /** Characters of the JSON of all extras; more fail the answer. */
  readonly extrasChars: number;
}

export interface AnswerEnd {
  readonly outcome: 'ok' | 'error' | 'cancelled';
  readonly bytes: number;
  readonly error?: unknown;
}

/** The connection is reused if the server ends the body within this time after a finished answer. */
const BODY_END_MS = 1_000;

/**
 * One streamed answer, from the request to its end.
 *
 * A1 It ends exactly once: complete (with a finish reason), cut at `limits.chars` (the text so far is delivered with the
 *    finish reason `length`), failed, aborted, or abandoned by the reader; all but the first close the connection at once.
 * A2 Both timeouts measure arrival, not reading, so a slow reader does not look like a silent provider. Comments, which
 *    servers send to keep connections open, do not reset them.
 * A3 The queue is bounded by `limits`, which apply to the whole answer.
 */
export class AnswerStream {
  readonly #options: AnswerOptions;
  readonly #connection = new AbortController();
  readonly #reader: AnswerReader;
  readonly #frames = new FrameParser();
  readonly #queue = new DeltaQueue(() => {
    this.#close({ outcome: 'cancelled' });
  });
  #clock: NodeJS.Timeout;
  #hasBegun = false;
  /** Whether the part of the body that is read had an event. */
  #hasArrived = false;
  #isClosed = false;
  #bytes = 0;
  #chars = 0;
  #extrasChars = 0;

  /** Sends the request and returns the deltas of its answer. */
  static start(options: AnswerOptions): AsyncIterableIterator<ModelDelta> {
    return new AnswerStream(options).#queue;
  }

  private constructor(options: AnswerOptions) {
    this.#options = options;
    this.#reader = options.reader;
    this.#clock = setTimeout(this.#onSilence, options.firstByteMs);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (options.signal.aborted) this.#onAbort();
    else {
      options.request(this.#connection.signal).then(
        (answer) => {
          this.#readBody(answer);
        },
        (error: unknown) => {
          this.#fail(error);
        },
      );
    }
  }

  #readBody(answer: Answer): void {
    if (this.#isClosed) return;
    const events = new EventDecoder(this.#onEvent);
    answer.read({
      part: (part) => {
        this.#bytes += part.length;
        if (!this.#isClosed) events.write(part);
        if (this.#hasArrived && !this.#isClosed) this.#restartClock();
        this.#hasArrived = false;
        const { wireBytes, eventBytes } = this.#options.limits;
        if (this.#bytes > wireBytes) this.#failAs('too_large', `limit ${wireBytes} bytes`);
        else if (events.unfinishedChars > eventBytes) this.#failAs('too_large', `limit ${eventBytes} bytes an event`);
      },
      end: (error) => {
        if (error === undefined && !this.#isClosed) events.end();
        this.#end(error);
        clearTimeout(this.#clock);
      },
    });
  }

  readonly #onEvent = ({ event, data }: EventSourceMessage): void => {
    if (this.#isClosed || data === '') return;
    if (data.startsWith('[DONE]')) {
      this.#end();
      return;
    }
    this.#hasArrived = true;
    const chunk = this.#frames.parse(data);
    this.#take(event === 'error' ? { kind: 'error', error: errorIn(chunk) } : this.#reader.read(chunk));
  };

  #take(reading: ParsedChunk): void {
    if (reading.kind === 'delta') this.#pass(reading.delta);
    else if (reading.kind === 'end') this.#end();
    else if (reading.kind === 'malformed') this.#failAs('malformed');
    else if (reading.kind === 'error') this.#fail(streamFailure(reading.error, this.#options));
  }

  #pass(delta: ModelDelta): void {
    if (!this.#countExtras(delta)) return;
    this.#chars += charsOf(delta);
    const { chars } = this.#options.limits;
    if (this.#chars <= chars) {
      this.#queue.push(delta);
      return;
    }
    this.#queue.push({ finishReason: 'length', responseMetadata: { answer_limit_chars: chars } });
    this.#queue.finish();
    this.#close({ outcome: 'ok' });
  }

  /** Counts the delta's extras; returns false after failing an answer that has too many. */
  #countExtras({ extras }: ModelDelta): boolean {
    if (extras === undefined) return true;
    this.#extrasChars += JSON.stringify(extras).length;
    const { extrasChars } = this.#options.limits;
    if (this.#extrasChars <= extrasChars) return true;
    this.#failAs('too_large', `limit ${extrasChars} characters of provider extras`);
    return false;
  }

  /** The first chunk starts the timeout between chunks, which each further chunk resets. */
  #restartClock(): void {
    if (this.#hasBegun) {
      this.#clock.refresh();
      return;
    }
    this.#hasBegun = true;
    clearTimeout(this.#clock);
    this.#clock = setTimeout(this.#onSilence, this.#options.chunkMs);
  }

  readonly #onSilence = (): void => {
    const { firstByteMs, chunkMs } = this.#options;
    if (this.#hasBegun) this.#failAs('chunk_timeout', `${chunkMs} ms`);
    else this.#failAs('first_byte_timeout', `${firstByteMs} ms`);
  };

  readonly #onAbort = (): void => {
    this.#queue.fail(this.#options.signal.reason, { drop: true });
    this.#close({ outcome: 'cancelled' });
  };

  /** Handles the end of the body: the answer is complete with a finish reason, otherwise it was cut. */
  #end(cause?: Error): void {
    if (this.#isClosed) return;
    if (!this.#reader.isFinished) {
      this.#fail(failure('stream_cut', { model: this.#options.model, ...omitUndefined({ cause }) }));
      return;
    }
    const last = this.#reader.last();
    if (!this.#countExtras(last)) return;
    this.#queue.push(last);
    this.#queue.finish();
    this.#release({ outcome: 'ok' });
    this.#clock = setTimeout(() => {
      this.#connection.abort();
    }, BODY_END_MS).unref();
  }

  #failAs(reason: FailureReason, note?: string): void {
    this.#fail(failure(reason, { model: this.#options.model, ...omitUndefined({ note }) }));
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.#queue.fail(error, { drop: false });
    this.#close({ outcome: 'error', error });
  }

  #close(end: Omit<AnswerEnd, 'bytes'>): void {
    if (this.#isClosed) return;
    this.#release(end);
    this.#connection.abort();
  }

  #release(end: Omit<AnswerEnd, 'bytes'>): void {
    this.#isClosed = true;
    clearTimeout(this.#clock);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#options.onEnded({ ...end, bytes: this.#bytes });
  }
}

/** The error object of an event, which OpenAI's Responses and Anthropic's Messages wrap. */
const errorIn = (chunk: unknown): unknown => (isRecord(chunk) && isRecord(chunk['error']) ? chunk['error'] : chunk);

const charsOf = ({ content = '', reasoning = '', toolCallChunks = [] }: ModelDelta): number =>
  toolCallChunks.reduce((sum, { args }) => sum + args.length, content.length + reasoning.length);
