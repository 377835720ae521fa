import { InvalidRequestError, type ScatterContract, TooLargeError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { Msg } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Scatter } from '../connection/bus.js';
import type { NatsLink } from '../connection/nats-link.js';
import { natsFailure } from '../connection/nats-errors.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Questions to all processes at once, without a queue group: the caller collects replies for the time of the contract. */
export function createScatter(link: NatsLink, logger: Logger): Scatter {
  return {
    askAll: async (contract, payload, { maxReplies }) => {
      const request = encodeRequest(contract, payload);
      const collected = new Replies(contract, maxReplies, logger);
      const inbox = link.inbox();
      const over = new AbortController();
      const stop = link.subscribe(inbox, (message) => collected.add(message));
      try {
        await link.whileUp(async (connection) => {
          connection.publish(contract.name, request, { reply: inbox });
          await sleepUntil(AbortSignal.any([collected.full, over.signal]), contract.timeoutMs);
        });
      } catch (cause) {
        throw natsFailure(`ask on ${contract.name}`, cause);
      } finally {
        stop();
        over.abort();
      }
      return { replies: collected.replies, isCut: collected.full.aborted };
    },
    answerAll: (contract, answer) =>
      link.subscribe(contract.name, (message) => {
        answerOne(link, contract, { message, answer }).catch((error: unknown) => {
          logger.warn({ event: 'scatter.answer', subject: contract.name, error }, 'a question was not answered');
        });
      }),
  };
}

/** Resolves after the time, or when the signal aborts. */
async function sleepUntil(signal: AbortSignal, ms: number): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** @throws {InvalidRequestError} when the payload breaks the contract */
function encodeRequest(contract: ScatterContract, payload: unknown): Uint8Array {
  const request = contract.request.safeParse(payload);
  if (request.success) return encoder.encode(JSON.stringify(request.data));
  throw new InvalidRequestError(`${contract.name}: ${z.prettifyError(request.error)}`);
}

/** The replies to one question; a process that sends several counts for each, as the contract says which it is. */
class Replies<Reply extends z.ZodType> {
  readonly replies: z.output<Reply>[] = [];
  private readonly filled = new AbortController();

  constructor(
    private readonly contract: ScatterContract<z.ZodType, Reply>,
    private readonly max: number,
    private readonly logger: Logger,
  ) {}

  /** Aborts when a reply came for which there was no room. */
  get full(): AbortSignal {
    return this.filled.signal;
  }

  add({ data, headers }: Msg): void {
    // Nobody subscribes to the subject.
    if (data.length === 0 && headers?.code === 503) return;
    const reply = this.contract.reply.safeParse(parseJson(data));
    if (!reply.success) {
      const reason = z.prettifyError(reply.error).slice(0, 500);
      this.logger.warn(
        { event: 'scatter.reply', subject: this.contract.name, reason },
        'a reply breaks the contract and is left out',
      );
    } else if (this.replies.length < this.max) this.replies.push(reply.data);
    else this.filled.abort();
  }
}

interface Question<Request extends z.ZodType, Reply extends z.ZodType> {
  readonly message: Msg;
  readonly answer: (request: z.output<Request>) => Promise<z.input<Reply>>;
}

async function answerOne<Request extends z.ZodType, Reply extends z.ZodType>(
  link: NatsLink,
  contract: ScatterContract<Request, Reply>,
  { message: { data, reply }, answer }: Question<Request, Reply>,
): Promise<void> {
  if (reply === undefined) return;
  const { session } = link;
  const request = contract.request.parse(parseJson(data));
  const text = encoder.encode(JSON.stringify(await answer(request)));
  // Who asked has stopped waiting when the connection was lost meanwhile.
  if (!link.connected || link.session !== session) return;
  const limitBytes = link.connection.info?.max_payload ?? 1_048_576;
  if (text.length > limitBytes)
    throw new TooLargeError(`the reply has ${text.length} bytes; the bus carries ${limitBytes}`, {
      details: { limitBytes },
    });
  link.connection.publish(reply, text);
}

function parseJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(data));
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
