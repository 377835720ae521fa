import type { IncomingMessage } from 'node:http';
import type { ClocksConfig, ModelConfig } from '@caribou/config';
import { type ModelError, omitUndefined } from '@caribou/contracts';
import type { Logger, ModelPort } from '@caribou/core';
import { AnswerStream } from './answer-stream.js';
import { buildRequest, type ProviderRequest, requestJson } from './build-request.js';
import { createTransport, ConnectTimeout, type Endpoint, Refusal, type Transport } from './http-transport.js';
import { failure, refusalFailure } from './provider-error.js';
import { type ProviderText, providerTextOf } from './provider-text.js';

export type ModelClocks = Pick<ClocksConfig, 'modelConnectMs' | 'modelFirstByteMs' | 'modelChunkMs'>;

export interface ModelOptions {
  readonly clocks: ModelClocks;
  readonly logger: Logger;
}

/**
 * Limits of one answer. Its text, reasoning and arguments end at the first. A token of four characters has a frame of some
 * 270 bytes, so the limits of bytes are far higher.
 */
const LIMITS = { chars: 4 * 1024 * 1024, eventBytes: 16 * 1024 * 1024, wireBytes: 1024 * 1024 * 1024 };

/** Creates a model at an OpenAI-compatible chat completions endpoint. It does not retry failed calls. */
export function createOpenAiModel(config: ModelConfig, { clocks, logger }: ModelOptions): ModelPort {
  const transport = createTransport(endpointOf(config, clocks));
  const textOf = providerTextOf(config);
  return {
    name: config.name,
    endpoint: { provider: providerOf(config.baseUrl), model: config.model },
    supportsVision: config.supportsVision,
    supportsThinking: config.supportsThinking,
    ...omitUndefined({ maxInputTokens: config.maxInputTokens }),
    stream: (call, { signal }) => ({
      [Symbol.asyncIterator]() {
        if (config.problem !== undefined) throw failure('not_configured', { model: config.name, note: config.problem });
        const body = buildRequest(config, call);
        const startedMs = performance.now();
        return AnswerStream.start({
          model: config.name,
          textOf,
          firstByteMs: clocks.modelFirstByteMs,
          chunkMs: clocks.modelChunkMs,
          limits: LIMITS,
          signal,
          request: (connection) => send(transport, { body, model: config.name, textOf, signal: connection }),
          onEnded: (end) => {
            const durationMs = Math.round(performance.now() - startedMs);
            logger.debug({ event: 'model_call.end', model: config.name, durationMs, ...end }, 'model call ended');
          },
        });
      },
    }),
  };
}

/** Identifies the provider by host and path, ignoring a password in the URL and trailing slashes. */
function providerOf(baseUrl: string): string {
  const { host, pathname } = new URL(baseUrl);
  return `${host}${pathname.replace(/\/+$/, '')}`;
}

/** The address of chat completions, and the headers of each request; configured headers take precedence over the key. */
function endpointOf({ baseUrl, apiKey, headers }: ModelConfig, { modelConnectMs }: ModelClocks): Endpoint {
  const configured = Object.entries(headers).map(([name, value]): [string, string] => [
    name.toLowerCase(),
    value.reveal(),
  ]);
  return {
    url: new URL(`${baseUrl.replace(/\/$/, '')}/chat/completions`),
    headers: {
      accept: 'application/json',
      'user-agent': 'caribou',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey.reveal()}` }),
      ...Object.fromEntries(configured),
      'content-type': 'application/json',
    },
    connectMs: modelConnectMs,
  };
}

interface Sending {
  readonly body: ProviderRequest;
  readonly model: string;
  readonly textOf: ProviderText;
  readonly signal: AbortSignal;
}

/** @throws {ModelError} when there is no 2xx answer with an event stream */
async function send(transport: Transport, { body, model, textOf, signal }: Sending): Promise<IncomingMessage> {
  const message = await transport.post(requestJson(body), signal).catch((error: unknown) => {
    throw requestFailure(error, model, textOf);
  });
  if (message.headers['content-type']?.startsWith('application/json') === true) {
    message.destroy();
    throw failure('malformed', { model, note: 'no event stream' });
  }
  return message;
}

function requestFailure(error: unknown, model: string, textOf: ProviderText): ModelError {
  if (error instanceof Refusal) return refusalFailure({ model, textOf, ...refusalParts(error) }, Date.now());
  if (error instanceof ConnectTimeout) return failure('connect_timeout', { model, note: error.message });
  return failure('connection', { model, cause: error });
}

const refusalParts = ({ status, headers, body }: Refusal) => ({ status, headers, body });
