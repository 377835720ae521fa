import { addressOf } from './address.js';
import { gatewayFetch } from './gateway-fetch.js';

export { addressOf } from './address.js';
export { credentials } from './credentials.js';

/** Time for an answer, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** An answer that is not a success, or none at all (`status` 0). */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    message: string,
    /** Seconds after which the same request may succeed; absent when the server did not say. */
    readonly retryAfterSeconds?: number,
    /** Names the refusal for programs, where it has a name. */
    readonly code?: string,
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
  /** Whether the request is a part of signing in: a 401 is its answer and asks nobody to sign in. */
  readonly isSignIn?: boolean;
}

/**
 * Sends a request to the gateway. When nobody is signed in, it waits until somebody is.
 *
 * @param path relative to the page, such as `api/usage`
 * @throws {ApiError} for every answer that is not a success, and when no answer comes
 */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const answer = await answerOf(path, options);
  if (answer.ok) return answer;
  const { message, code } = await reasonOf(answer);
  throw new ApiError(answer.status, message, secondsOf(answer.headers.get('retry-after')), code);
}

async function answerOf(
  path: string,
  { timeoutMs = TIMEOUT_MS, isSignIn = false, ...options }: RequestOptions,
): Promise<Response> {
  try {
    return await gatewayFetch(addressOf(path), fetchOptions(options), { timeoutMs, isSignIn });
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    throw new ApiError(0, error instanceof Error ? error.message : String(error));
  }
}

function fetchOptions({ method = 'GET', json, body, headers = {}, signal }: RequestOptions): RequestInit {
  const content = json === undefined ? body : JSON.stringify(json);
  return {
    method,
    headers: json === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(content === undefined ? {} : { body: content }),
    ...(signal === undefined ? {} : { signal }),
  };
}

const secondsOf = (header: string | null): number | undefined =>
  header !== null && /^\d+$/.test(header) ? Number(header) : undefined;

interface Reason {
  readonly message: string;
  readonly code?: string;
}

/** Why a request was refused: `detail` is a text, or `{code, message}`. */
async function reasonOf(answer: Response): Promise<Reason> {
  const text = await answer.text();
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === 'string') return { message: detail };
    if (typeof detail === 'object' && detail !== null && 'message' in detail)
      return { message: String(detail.message), ...('code' in detail ? { code: String(detail.code) } : {}) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { message: `${answer.status} ${answer.statusText}`.trim() };
}
