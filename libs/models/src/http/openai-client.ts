import type { ModelConfig } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import OpenAI, { APIConnectionError, APIConnectionTimeoutError } from 'openai';
import type { ModelClocks, ModelProtocol } from './http-model.js';
import { ConnectTimeout, type Transport } from './http-transport.js';
import { keyHeaders } from './key-headers.js';

/** The SDK sets this header only on bodies that it encodes itself. */
const JSON_BODY = { 'content-type': 'application/json' };

/** Sends bodies to a path of an OpenAI-compatible endpoint, by the `openai` package over the transport. */
export function postByOpenAi(
  path: string,
  { config, transport, clocks }: { config: ModelConfig; transport: Transport; clocks: ModelClocks },
): ModelProtocol['post'] {
  const client = createClient(config, transport, clocks);
  return (body, signal) =>
    client
      .post(path, { body, headers: JSON_BODY, signal })
      .asResponse()
      .catch((error: unknown) => {
        throw causeOf(error);
      });
}

/** Sets every option that the SDK would read from the environment, so that libs/config stays the only reader. */
function createClient(config: ModelConfig, transport: Transport, clocks: ModelClocks): OpenAI {
  const headers = Object.entries(config.headers).map(([name, value]): [string, string] => [
    name.toLowerCase(),
    value.reveal(),
  ]);
  return new OpenAI({
    // The header of the key is among the default headers.
    apiKey: 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: config.baseUrl,
    defaultHeaders: { authorization: null, ...keyHeaders(config), ...Object.fromEntries(headers) },
    ...omitUndefined({ defaultQuery: config.query }),
    fetch: transport.fetch,
    maxRetries: 0,
    // The transport's timeouts must fire first, because the SDK's timeout loses the reason.
    timeout: clocks.modelConnectMs + clocks.modelFirstByteMs + 1_000,
    logLevel: 'off',
  });
}

/** Finds the cause of an error of the SDK, which wraps errors of `fetch` and drops the cause of those like "timed out". */
function causeOf(error: unknown): unknown {
  if (error instanceof APIConnectionTimeoutError) return new ConnectTimeout('');
  return error instanceof APIConnectionError ? error.cause : error;
}
