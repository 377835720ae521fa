import type { IncomingMessage } from 'node:http';
import type { ClocksConfig, ModelConfig } from '@caribou/config';
import { type ModelError, omitUndefined } from '@caribou/contracts';
import type { Logger, ModelPort } from '@caribou/core';
import OpenAI, { APIConnectionError, APIConnectionTimeoutError } from 'openai';
import { AnswerStream } from './answer-stream.js';
import { buildRequest, encodeRequest, type ProviderRequest } from './build-request.js';
import { ChunkReader } from './chunk-reader.js';
import { createTransport, ConnectTimeout, Refusal, type Transport } from './http-transport.js';
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
const LIMITS = {
  chars: 4 * 1024 * 1024,
  eventBytes: 16 * 1024 * 1024,
  wireBytes: 1024 * 1024 * 1024,
  extrasChars: 4 * 1024 * 1024,
};

/** Creates a model at an OpenAI-compatible chat completions endpoint. It does not retry failed calls. */
export function createOpenAiModel(config: ModelConfig, { clocks, logger }: ModelOptions): ModelPort {
  const transport = createTransport({ connectMs: clocks.modelConnectMs });
  const client = createClient(config, transport, clocks);
  const textOf = providerTextOf(config);
  return {
    name: config.name,
    endpoint: { provider: providerOf(config.baseUrl), model: config.model },
    dialect: config.dialect,
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
          reader: new ChunkReader(),
          signal,
          request: (connection) => send(client, { body, transport, model: config.name, textOf, signal: connection }),
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

/** Sets every option that the SDK would read from the environment, so that libs/config stays the only reader. */
function createClient(config: ModelConfig, transport: Transport, clocks: ModelClocks): OpenAI {
  const headers = Object.entries(config.headers).map(([name, value]): [string, string] => [name, value.reveal()]);
  return new OpenAI({
    apiKey: config.apiKey?.reveal() ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: config.baseUrl,
    defaultHeaders: { ...(config.apiKey === undefined ? { Authorization: null } : {}), ...Object.fromEntries(headers) },
    fetch: transport.fetch,
    maxRetries: 0,
    // The transport's timeouts must fire first, because the SDK's timeout loses the reason.
    timeout: clocks.modelConnectMs + clocks.modelFirstByteMs + 1_000,
    logLevel: 'off',
  });
}

interface Sending {
  readonly body: ProviderRequest;
  readonly transport: Transport;
  readonly model: string;
  readonly textOf: ProviderText;
  readonly signal: AbortSignal;
}

/** The SDK sets this header only on bodies that it encodes itself. */
const JSON_BODY = { 'content-type': 'application/json' };

/** @throws {ModelError} when there is no 2xx answer with an event stream */
async function send(client: OpenAI, { body, transport, model, textOf, signal }: Sending): Promise<IncomingMessage> {
  const response = await client
    .post('/chat/completions', { body: encodeRequest(body), headers: JSON_BODY, signal })
    .asResponse()
    .catch((error: unknown) => {
      throw requestFailure(error, model, textOf);
    });
  const message = transport.bodyOf(response);
  if (message === undefined) throw failure('malformed', { model });
  if (message.headers['content-type']?.startsWith('application/json') === true) {
    message.destroy();
    throw failure('malformed', { model, note: 'no event stream' });
  }
  return message;
}

/** Finds the cause of an error of the SDK, which wraps errors of `fetch` and drops the cause of those like "timed out". */
function requestFailure(error: unknown, model: string, textOf: ProviderText): ModelError {
  if (error instanceof APIConnectionTimeoutError) return failure('connect_timeout', { model });
  const cause = error instanceof APIConnectionError ? error.cause : error;
  if (cause instanceof Refusal) return refusalFailure({ model, textOf, ...refusalParts(cause) }, Date.now());
  if (cause instanceof ConnectTimeout) return failure('connect_timeout', { model, note: cause.message });
  return failure('connection', { model, cause });
}

const refusalParts = ({ status, headers, body }: Refusal) => ({ status, headers, body });
