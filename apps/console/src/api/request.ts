/** Time for an answer to begin, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** An answer that is not a success, or none at all (`status` 0). */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    message: string,
    /** Seconds after which the same request may succeed; absent when the server did not say. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}

export interface RequestOptions {
  readonly method?: string;
  /** A body to send as JSON. */
  readonly json?: unknown;
  /** A body to send as it is. */
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Absent: 30 s; 0: none. */
  readonly timeoutMs?: number;
}

const KEY_ITEM = 'caribou.api-key';

/** The API key that the person has entered, for this tab only; null without one. */
export const readApiKey = (): string | null => sessionStorage.getItem(KEY_ITEM);

/** Uses an API key for all requests of this tab; null forgets it. */
export function setApiKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(KEY_ITEM);
  else sessionStorage.setItem(KEY_ITEM, key);
}

/** Headers that say who calls: an API key, or the token that proves a session's page. */
export function credentials(): Record<string, string> {
  const key = readApiKey();
  const token = /(?:^|; )csrf_token=([^;]+)/.exec(document.cookie)?.[1];
  return {
    ...(key === null ? {} : { 'x-api-key': key }),
    ...(token === undefined ? {} : { 'x-csrf-token': decodeURIComponent(token) }),
  };
}

/** The absolute address of a path of this gateway, below whatever prefix the page was loaded from. */
export const addressOf = (path: string): string => new URL(path.replace(/^\//, ''), baseAddress()).href;

const baseAddress = (): string => new URL('./', document.baseURI.replace(/[#?].*$/, '')).href;

/**
 * Sends a request to the gateway.
 *
 * @param path relative to the page, such as `api/usage`
 * @throws {ApiError} for every answer that is not a success, and when there is none
 */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const answer = await answerOf(path, options);
  if (answer.ok) return answer;
  const retryAfter = answer.headers.get('retry-after');
  throw new ApiError(answer.status, await reasonOf(answer), retryAfter === null ? undefined : Number(retryAfter));
}

async function answerOf(
  path: string,
  { signal, timeoutMs = TIMEOUT_MS, ...options }: RequestOptions,
): Promise<Response> {
  const deadline = timeoutMs === 0 ? undefined : AbortSignal.timeout(timeoutMs);
  const signals = [signal, deadline].filter((each) => each !== undefined);
  try {
    return await fetch(addressOf(path), { ...fetchOptions(options), signal: AbortSignal.any(signals) });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, error instanceof Error ? error.message : String(error));
  }
}

function fetchOptions({ method = 'GET', json, body, headers }: RequestOptions): RequestInit {
  if (json === undefined)
    return { method, headers: { ...credentials(), ...headers }, ...(body === undefined ? {} : { body }) };
  const sent = { ...credentials(), 'content-type': 'application/json', ...headers };
  return { method, headers: sent, body: JSON.stringify(json) };
}

/** The text of a refusal: `detail` is a text, or `{code, message}`. */
async function reasonOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === 'string') return detail;
    if (typeof detail === 'object' && detail !== null && 'message' in detail) return String(detail.message);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return `${answer.status} ${answer.statusText}`.trim();
}
