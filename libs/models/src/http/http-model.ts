import type { ClocksConfig, ModelConfig } from '@caribou/config';
import { type ModelError, omitUndefined } from '@caribou/contracts';
import type { Logger, ModelCall, ModelPort } from '@caribou/core';
import type { AnswerReader } from './answer-reader.js';
import { AnswerStream } from './answer-stream.js';
import { originOf } from './endpoint.js';
import { ConnectTimeout } from './connections.js';
import { createTransport, type Post, Refusal, type Transport } from './http-transport.js';
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
  readonly post: Post;
  /** A reader for the events of one answer. */
  newReader(): AnswerReader;
}

/** Creates the protocol of a model, whose requests pass the transport. */
export type OpenProtocol = (config: ModelConfig, transport: Transport) => ModelProtocol;

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
  const protocol = open(config, createTransport({ connectMs: clocks.modelConnectMs }));
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
          request: (connection) =>
            protocol.post(body, connection).catch((error: unknown) => {
              throw requestFailure(error, { protocol, model: config.name, textOf });
            }),
          onEnded: (end) => {
            const durationMs = Math.round(performance.now() - startedMs);
            logger.debug({ event: 'model_call.end', model: config.name, durationMs, ...end }, 'model call ended');
          },
        });
      },
    }),
  };
}

interface Asked {
  readonly protocol: ModelProtocol;
  readonly model: string;
  readonly textOf: ProviderText;
}

function requestFailure(error: unknown, { protocol, model, textOf }: Asked): ModelError {
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
function jsonFailure(body: string, { protocol, model, textOf }: Asked): ModelError {
  const read = protocol.newReader().read(parseJson(body));
  if (read.kind === 'error') return streamFailure(read.error, { model, textOf });
  return failure('malformed', { model, note: 'no event stream' });
}
