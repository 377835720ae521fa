import type { ModelConfig } from '@caribou/config';
import { isRecord, type Message, ModelError, omitUndefined } from '@caribou/contracts';
import type { ModelCall, ModelDelta, ModelModule, ModelPort } from '@caribou/core';
import { LIMITS, type ModelOptions } from '../http/http-model.js';
import { failure, refusalFailure } from '../http/provider-error.js';
import { type ProviderText, providerTextOf } from '../http/provider-text.js';
import { fromModule } from './module-delta.js';
import { nextWithin, ModuleSilence } from './next-within.js';

/**
 * A model that a module of the operator answers for. Its deltas are checked; the clocks, limits and errors are those of all
 * models. A module that ignores its signal is left alone after an abort, a failure or the end.
 */
export function createModuleModel(
  config: ModelConfig,
  module: ModelModule,
  { clocks, logger }: ModelOptions,
): ModelPort {
  const provider = `module:${config.name}`;
  const textOf = providerTextOf(config);
  return {
    name: config.name,
    endpoint: { provider, model: config.model },
    dialect: config.dialect,
    supportsVision: config.supportsVision,
    supportsThinking: config.supportsThinking,
    ...omitUndefined({ maxInputTokens: config.maxInputTokens }),
    async *stream(call, { signal }) {
      const startedMs = performance.now();
      let outcome = 'cancelled';
      try {
        yield* checkedAnswer(() => module.stream(callFor(config, call, provider), { signal }), {
          model: config.name,
          clocks: { firstMs: clocks.modelConnectMs + clocks.modelFirstByteMs, nextMs: clocks.modelChunkMs },
          signal,
        });
        outcome = 'ok';
      } catch (error) {
        signal.throwIfAborted();
        outcome = 'error';
        throw failureOf(error, config.name, textOf);
      } finally {
        const durationMs = Math.round(performance.now() - startedMs);
        logger.debug({ event: 'model_call.end', model: config.name, durationMs, outcome }, 'model call ended');
      }
    },
  };
}

/** The call with the limits of the configuration; extras of other providers are hidden from the module. */
function callFor(config: ModelConfig, call: ModelCall, provider: string): ModelCall {
  const limits = [config.maxTokens, call.maxTokens].filter((limit) => limit !== undefined);
  return {
    ...call,
    messages: call.messages.map((message) => withOwnExtras(message, provider)),
    ...omitUndefined({ temperature: call.temperature ?? config.temperature }),
    ...(limits.length === 0 ? {} : { maxTokens: Math.min(...limits) }),
  };
}

function withOwnExtras(message: Message, provider: string): Message {
  if (message.type !== 'ai' || message.provider_extras === undefined) return message;
  if (message.provider_extras.provider === provider) return message;
  const { provider_extras: _ofOthers, ...shown } = message;
  return shown;
}

interface Watched {
  readonly model: string;
  readonly clocks: { readonly firstMs: number; readonly nextMs: number };
  readonly signal: AbortSignal;
}

/** @throws {ModelError} for an answer without an end, too large or in another form; {ModuleSilence}; what the module throws */
async function* checkedAnswer(open: () => unknown, { model, clocks, signal }: Watched): AsyncGenerator<ModelDelta> {
  signal.throwIfAborted();
  const iterator = iteratorOf(open(), model);
  const size = { chars: 0, extrasChars: 0 };
  let isFinished = false;
  let hasBegun = false;
  try {
    for (;;) {
      const waitMs = hasBegun ? clocks.nextMs : clocks.firstMs;
      const given = await nextWithin(iterator, { waitMs, hasBegun, signal });
      if (given.done === true) break;
      hasBegun = true;
      const delta = checkedDelta(given.value, size, model);
      isFinished ||= delta.finishReason !== undefined;
      yield delta;
      if (size.chars > LIMITS.chars) return;
    }
  } finally {
    leave(iterator);
  }
  if (!isFinished) throw failure('stream_cut', { model, note: 'no delta had a finishReason' });
}

/** The delta, or the end of an answer that is too long: what came before it is the answer. */
function checkedDelta(given: unknown, size: { chars: number; extrasChars: number }, model: string): ModelDelta {
  const read = fromModule(given);
  if ('fault' in read) throw failure('malformed', { model, note: read.fault });
  const { content = '', reasoning = '', toolCallChunks = [], extras } = read.delta;
  size.chars += toolCallChunks.reduce((sum, { args }) => sum + args.length, content.length + reasoning.length);
  size.extrasChars += extras === undefined ? 0 : JSON.stringify(extras).length;
  if (size.extrasChars > LIMITS.extrasChars)
    throw failure('too_large', { model, note: `limit ${LIMITS.extrasChars} characters of provider extras` });
  if (size.chars <= LIMITS.chars) return read.delta;
  return { finishReason: 'length', responseMetadata: { answer_limit_chars: LIMITS.chars } };
}

function iteratorOf(given: unknown, model: string): AsyncIterator<unknown> {
  const open = isAsyncIterable(given) ? given[Symbol.asyncIterator]() : undefined;
  if (open !== undefined) return open;
  throw failure('not_configured', { model, note: 'stream must return an async iterable of deltas' });
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** Ends the iteration without waiting for it: the module may ignore its signal. */
function leave(iterator: AsyncIterator<unknown>): void {
  void Promise.resolve(iterator.return?.()).catch(() => undefined);
}

/**
 * The error of a module as one of the product. Clients of providers have the HTTP status in `status` or `statusCode`, and the
 * headers in `headers` or `responseHeaders`; others count as a failed connection.
 */
function failureOf(error: unknown, model: string, textOf: ProviderText): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof ModuleSilence) {
    return failure(error.hadBegun ? 'chunk_timeout' : 'first_byte_timeout', { model, note: error.message });
  }
  const status = isRecord(error) ? (error['status'] ?? error['statusCode']) : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) {
    const body = JSON.stringify({ error: { message } });
    return refusalFailure({ model, textOf, status, headers: headersOf(error), body }, Date.now());
  }
  return failure('connection', { model, cause: error, ...omitUndefined({ text: textOf(message) }) });
}

function headersOf(error: unknown): Readonly<Record<string, string>> {
  const given = isRecord(error) ? (error['headers'] ?? error['responseHeaders']) : undefined;
  if (given instanceof Headers) return Object.fromEntries(given);
  if (!isRecord(given)) return {};
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (typeof value === 'string' ? [[name.toLowerCase(), value]] : [])),
  );
}
