import type { ModelConfig } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import OpenAI from 'openai';
import type { Post, RequestTarget, Transport } from './http-transport.js';
import { keyHeaders } from './key-headers.js';

/** The SDK sets this header only with a body that it encodes itself. */
const JSON_BODY = { 'content-type': 'application/json' };

/**
 * Sends bodies to a path of an OpenAI-compatible endpoint. URL and headers are those of the `openai` package; as all requests of a
 * model have the same, it makes them once.
 */
export function postByOpenAi(
  path: string,
  { config, transport }: { readonly config: ModelConfig; readonly transport: Transport },
): Post {
  let post: Promise<Post> | undefined;
  return async (body, signal) => {
    post ??= targetOf(createClient(config), path).then((target) => transport.openTarget(target));
    return (await post)(body, signal);
  };
}

async function targetOf(client: OpenAI, path: string): Promise<RequestTarget> {
  const { req, url } = await client.buildRequest({ method: 'post', path, headers: JSON_BODY });
  return { url, headers: new Headers(req.headers) };
}

/** Sets every option that the SDK would read from the environment, so that libs/config stays the only reader. */
function createClient(config: ModelConfig): OpenAI {
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
    logLevel: 'off',
  });
}
