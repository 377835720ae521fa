import { addressOf } from './address.js';
import { Connection } from './connection.js';
import { credentials } from './credentials.js';
import { session } from './session.js';

const PROBE_MS = 5_000;
/** Sessions that may end during one request. */
const MAX_SIGN_INS = 3;

/** The connection of this page to the gateway. */
export const connection = new Connection({
  probe: async () => {
    try {
      const answer = await fetch(addressOf('health'), { cache: 'no-store', signal: AbortSignal.timeout(PROBE_MS) });
      return answer.ok;
    } catch {
      return false;
    }
  },
});

export interface GatewayFetchOptions {
  /** Time for an answer to begin and, without a stream, to end, for each attempt; 0: none, which is the default. */
  readonly timeoutMs?: number;
  /** Whether a 401 is the caller's own business, as in signing in. */
  readonly isSignIn?: boolean;
}

/**
 * `fetch` with the credentials of this page. A request that is refused because the session is over or the key unknown waits for the
 * person to sign in and is sent again; it was not carried out before. Client packages that send requests themselves take it as their `fetch`.
 */
export async function gatewayFetch(
  input: RequestInfo | URL,
  init: RequestInit = {},
  { timeoutMs = 0, isSignIn = false }: GatewayFetchOptions = {},
): Promise<Response> {
  const { signal } = init;
  const changes = isChange(init.method ?? (input instanceof Request ? input.method : 'GET'));
  for (let attempt = 1; ; attempt += 1) {
    const sentAt = session.count;
    const answer = await fetchObserved(input, withCredentials(input, init), timeoutMs);
    if (answer.status !== 401 || isSignIn || attempt > MAX_SIGN_INS) return answer;
    if (!(await session.reopened({ sentAt, changes, signal }))) return answer;
  }
}

const isChange = (method: string): boolean => !['GET', 'HEAD'].includes(method.toUpperCase());

function withCredentials(input: RequestInfo | URL, init: RequestInit): RequestInit {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  for (const [name, value] of Object.entries(credentials())) headers.set(name, value);
  return { ...init, headers };
}

/** `fetch`, which reports to `connection` whether the gateway answers. */
async function fetchObserved(input: RequestInfo | URL, init: RequestInit, timeoutMs: number): Promise<Response> {
  const deadline = timeoutMs === 0 ? [] : [AbortSignal.timeout(timeoutMs)];
  const signal = AbortSignal.any([...(init.signal ? [init.signal] : []), ...deadline]);
  let answer: Response;
  try {
    // A request's body can be read once, so an object of the caller is copied.
    answer = await fetch(input instanceof Request ? input.clone() : input, { ...init, signal });
  } catch (error) {
    if (init.signal?.aborted !== true) connection.noteLoss();
    throw error;
  }
  if (isOfProxy(answer)) connection.noteLoss();
  else connection.noteAnswer();
  return answer;
}

/** Statuses by which a proxy says that the gateway behind it does not answer. The gateway's own refusals are JSON. */
const ofProxy: ReadonlySet<number> = new Set([502, 503, 504]);
const isOfProxy = (answer: Response): boolean =>
  ofProxy.has(answer.status) && answer.headers.get('content-type')?.includes('json') !== true;
