import { ForbiddenError, RateLimitedError, UnavailableError } from '@caribou/contracts';
import type { SafeFetch } from '@caribou/core';
import { z } from 'zod';

/** A provider's server as configured. */
export interface ProviderApi {
  /** The provider's name in the configuration. */
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
  /** Sent as JSON, or as a form for URLSearchParams. */
  readonly body?: URLSearchParams | Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

const MAX_REASON_CHARS = 300;
const MAX_REASON_BYTES = 10_000;

/** Formats in which providers describe errors. */
const Reason = z.union([
  z.object({ detail: z.object({ error: z.string() }) }).transform(({ detail }) => detail.error),
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
  z.object({ message: z.string() }).transform(({ message }) => message),
]);

/**
 * Sends a request to a provider.
 *
 * @throws {ForbiddenError} when it refuses the caller or the key
 * @throws {RateLimitedError} when the rate or quota is exceeded
 * @throws {UnavailableError} for any other answer that is not 2xx, with the provider's reason
 */
export async function callProvider(api: ProviderApi, request: ApiRequest): Promise<Response> {
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
 * Sends a request to a provider and parses its JSON answer.
 *
 * @throws as `askProvider`, and {UnavailableError} for an answer of another format
 */
export async function callProviderForJson<T extends z.ZodType>(
  api: ProviderApi,
  request: ApiRequest,
  shape: T,
): Promise<z.output<T>> {
  const response = await callProvider(api, { ...request, headers: { accept: 'application/json', ...request.headers } });
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
    // The format is checked next, and undefined matches none.
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

/** The error text of an answer; empty when its format is unknown. */
async function reasonOf(response: Response): Promise<string> {
  const text = await response.text();
  const parsed = Reason.safeParse(text.length <= MAX_REASON_BYTES ? jsonOf(text) : undefined);
  return parsed.success ? parsed.data.replace(/\s+/g, ' ').trim().slice(0, MAX_REASON_CHARS) : '';
}
