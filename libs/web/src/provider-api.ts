import { ForbiddenError, RateLimitedError, UnavailableError } from '@caribou/contracts';
import type { SafeFetch } from '@caribou/core';
import { z } from 'zod';

/** A provider's server as the configuration has it. */
export interface ProviderApi {
  /** As the configuration spells it. */
  readonly name: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** `Authorization: Bearer`, when there is a key. */
  readonly apiKey?: string;
  readonly fetch: SafeFetch;
}

export interface ApiRequest {
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, or as a form when it is one. */
  readonly body?: URLSearchParams | Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

const MAX_REASON_CHARS = 300;
const MAX_REASON_BYTES = 10_000;

/** Where providers say what is wrong. */
const Reason = z.union([
  z.object({ detail: z.object({ error: z.string() }) }).transform(({ detail }) => detail.error),
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
  z.object({ message: z.string() }).transform(({ message }) => message),
]);

/**
 * Asks a provider.
 *
 * @throws {ForbiddenError} when it refuses the caller or the key
 * @throws {RateLimitedError} when it wants fewer calls
 * @throws {UnavailableError} for any other answer that is not 2xx, with the provider's reason
 */
export async function askProvider(api: ProviderApi, request: ApiRequest): Promise<Response> {
  const { body, headers, signal, method = body === undefined ? 'GET' : 'POST' } = request;
  const isForm = body instanceof URLSearchParams;
  const response = await api.fetch(`${api.baseUrl}${request.path}`, {
    method,
    signal,
    headers: {
      ...(api.apiKey === undefined ? {} : { authorization: `Bearer ${api.apiKey}` }),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
  if (response.ok) return response;
  throw refusal(api, response.status, await reasonOf(response));
}

/**
 * What a provider answers in JSON.
 *
 * @throws as `askProvider`, and {UnavailableError} for an answer of another shape
 */
export async function askForJson<T extends z.ZodType>(
  api: ProviderApi,
  request: ApiRequest,
  shape: T,
): Promise<z.output<T>> {
  const response = await askProvider(api, { ...request, headers: { accept: 'application/json', ...request.headers } });
  const parsed = shape.safeParse(jsonOf(await response.text()));
  if (parsed.success) return parsed.data;
  throw new UnavailableError(`${api.name} gave an answer that is not understood`, {
    cause: parsed.error,
    details: { dependency: api.name },
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The shape is checked next, and this fits none.
    return undefined;
  }
}

function refusal({ name, apiKey }: ProviderApi, status: number, reason: string): Error {
  const said = `HTTP ${status}${reason === '' ? '' : `: ${reason}`}`;
  const options = { details: { dependency: name, providerStatus: status } };
  if (status === 401 || status === 403) {
    const what = apiKey === undefined ? 'the request' : 'its API key';
    return new ForbiddenError(`${name} refused ${what} (${said})`, options);
  }
  // 432 and 433 are Tavily's for a plan or a pay-as-you-go limit that is used up.
  if ([402, 429, 432, 433].includes(status))
    return new RateLimitedError(`${name} takes no more calls for now (${said})`, options);
  return new UnavailableError(`${name} failed (${said})`, options);
}

/** The words of an answer that is an error; empty when it has none that are understood. */
async function reasonOf(response: Response): Promise<string> {
  const text = await response.text();
  const parsed = Reason.safeParse(text.length <= MAX_REASON_BYTES ? jsonOf(text) : undefined);
  return parsed.success ? parsed.data.replace(/\s+/g, ' ').trim().slice(0, MAX_REASON_CHARS) : '';
}
