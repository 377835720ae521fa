import type { IncomingMessage } from 'node:http';
import type { ClocksConfig, ModelConfig } from '@caribou/config';
import { type ModelError, omitUndefined } from '@caribou/contracts';
import type { Logger, ModelCall, ModelPort } from '@caribou/core';
import type { AnswerReader } from './answer-reader.js';
import { AnswerStream } from './answer-stream.js';
import { originOf } from './endpoint.js';
import { ConnectTimeout, createTransport, Refusal, type Transport } from './http-transport.js';
import { failure, refusalFailure, streamFailure } from './provider-error.js';
import { parseJson, type ProviderText, providerTextOf } from './provider-text.js';

export type ModelClocks = Pick<ClocksConfig, 'modelConnectMs' | 'modelFirstByteMs' | 'modelChunkMs'>;

export interface ModelOptions {
  readonly clocks: ModelClocks;
  readonly logger: Logger;
}

/** What differs between the protocols of providers. */
export interface ModelProtocol {
  /** The body of a request for a streamed answer. @throws {InvalidRequestError} when the model cannot serve the call */
  encode(call: ModelCall): Buffer;
  /**
   * Sends a body. @throws the transport's errors (`Refusal`, `ConnectTimeout`, those of a socket), not those of the client
   * package that made the request
   */
  post(body: Buffer, signal: AbortSignal): Promise<Response>;
  /** A reader for the events of one answer. */
  newReader(): AnswerReader;
}

/** Creates the protocol of a model, whose requests pass the transport. */
export type OpenProtocol = (config: ModelConfig, transport: Transport, clocks: ModelClocks) => ModelProtocol;

/**
 * Limits of one answer. Its text, reasoning and arguments end at the first. A token of four characters has a frame of some
 * 270 bytes, so the limits of bytes are far higher.
 */
export const LIMITS = {
  chars: 4 * 1024 * 1024,
  eventBytes: 16 * 1024 * 1024,
  wireBytes: 1024 * 1024 * 1024,
  extrasChars: 4 * 1024 * 1024,
};

/** Creates a model behind HTTP and server-sent events. It does not retry failed calls. */
export function createHttpModel(config: ModelConfig, { clocks, logger }: ModelOptions, open: OpenProtocol): ModelPort {
  const transport = createTransport({ connectMs: clocks.modelConnectMs });
  const protocol = open(config, transport, clocks);
  const textOf = providerTextOf(config);
  const { provider, model, dialect } = originOf(config);
  return {
    name: config.name,
    endpoint: { provider, model },
    dialect,
    supportsVision: config.supportsVision,
    supportsThinking: config.supportsThinking,
    ...omitUndefined({ maxInputTokens: config.maxInputTokens }),
    stream: (call, { signal }) => ({
      [Symbol.asyncIterator]() {
        if (config.problem !== undefined) throw failure('not_configured', { model: config.name, note: config.problem });
        const body = protocol.encode(call);
        const startedMs = performance.now();
        return AnswerStream.start({
          model: config.name,
          textOf,
          firstByteMs: clocks.modelFirstByteMs,
          chunkMs: clocks.modelChunkMs,
          limits: LIMITS,
          reader: protocol.newReader(),
          signal,
          request: (connection) => send({ body, protocol, transport, model: config.name, textOf, signal: connection }),
          onEnded: (end) => {
            const durationMs = Math.round(performance.now() - startedMs);
            logger.debug({ event: 'model_call.end', model: config.name, durationMs, ...end }, 'model call ended');
          },
        });
      },
    }),
  };
}

interface Sending {
  readonly body: Buffer;
  readonly protocol: ModelProtocol;
  readonly transport: Transport;
  readonly model: string;
  readonly textOf: ProviderText;
  readonly signal: AbortSignal;
}

/** @throws {ModelError} when there is no 2xx answer with an event stream */
async function send(sending: Sending): Promise<IncomingMessage> {
  const { body, protocol, transport, model, signal } = sending;
  const response = await protocol.post(body, signal).catch((error: unknown) => {
    throw requestFailure(error, sending);
  });
  const message = transport.bodyOf(response);
  if (message === undefined) throw failure('malformed', { model });
  return message;
}

function requestFailure(error: unknown, { protocol, model, textOf }: Sending): ModelError {
  if (error instanceof Refusal) {
    const { status, headers, body } = error;
    if (status >= 200 && status <= 299) return jsonFailure(body, { protocol, model, textOf });
    return refusalFailure({ model, textOf, status, headers, body }, Date.now());
  }
  if (error instanceof ConnectTimeout) {
    return failure('connect_timeout', { model, ...(error.message === '' ? {} : { note: error.message }) });
  }
  return failure('connection', { model, cause: error });
}

/** JSON in place of a stream: an error that the provider reports with status 200, else a whole answer, which was not asked for. */
function jsonFailure(
  body: string,
  { protocol, model, textOf }: Pick<Sending, 'protocol' | 'model' | 'textOf'>,
): ModelError {
  const read = protocol.newReader().read(parseJson(body));
  if (read.kind === 'error') return streamFailure(read.error, { model, textOf });
  return failure('malformed', { model, note: 'no event stream' });
}
