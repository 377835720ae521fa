import { isRecord, ModelError, omitUndefined } from '@caribou/contracts';
import { objectIn, type ProviderText } from './provider-text.js';

/** Why a model call failed; `details.reason` of every ModelError of this adapter. */
export type FailureReason =
  | 'rate_limited'
  | 'burst'
  | 'quota'
  | 'auth'
  | 'context_length'
  | 'not_found'
  | 'bad_request'
  | 'server'
  | 'connection'
  | 'connect_timeout'
  | 'first_byte_timeout'
  | 'chunk_timeout'
  | 'stream_cut'
  | 'malformed'
  | 'too_large'
  | 'not_configured';

const retryable: ReadonlySet<FailureReason> = new Set([
  'rate_limited',
  'burst',
  'server',
  'connection',
  'connect_timeout',
  'first_byte_timeout',
  'chunk_timeout',
  'stream_cut',
  'malformed',
]);

const texts: Readonly<Record<FailureReason, string>> = {
  rate_limited: 'the model endpoint limits the rate of requests',
  burst: 'the model endpoint refuses the sudden rise of requests',
  quota: 'the quota or balance at the model endpoint is used up',
  auth: 'the model endpoint refused the API key',
  context_length: "the conversation is longer than the model's context",
  not_found: 'the model endpoint does not know this model or path',
  bad_request: 'the model endpoint refused the request',
  server: 'the model endpoint had an error',
  connection: 'the connection to the model endpoint broke or could not be made',
  connect_timeout: 'the model endpoint could not be connected in time',
  first_byte_timeout: 'the model endpoint did not begin to answer in time',
  chunk_timeout: 'the model endpoint fell silent within its answer',
  stream_cut: 'the answer of the model ended before its end',
  malformed: 'the answer of the model endpoint is not valid',
  too_large: 'the answer of the model is larger than allowed',
  not_configured: 'the model is not configured',
};

export interface FailureFacts {
  readonly model: string;
  readonly status?: number;
  /** The provider's error code, when it is a short identifier. */
  readonly code?: string;
  readonly retryAfterMs?: number;
  /** The provider's text without secrets, for the operator's log. */
  readonly text?: string;
  /** Text for users in addition to the reason, without any text of the provider. */
  readonly note?: string;
  readonly cause?: unknown;
}

/**
 * Creates the ModelError of a reason. Its message contains only status and code of the provider, whose text is in
 * `details.providerText`.
 */
export function failure(reason: FailureReason, facts: FailureFacts): ModelError {
  const { model, status, code, retryAfterMs, text, note, cause } = facts;
  const hints = [
    ...(status === undefined ? [] : [`HTTP ${status}`]),
    ...(code === undefined ? [] : [`code ${code}`]),
    ...(note === undefined ? [] : [note]),
  ];
  return new ModelError(`model "${model}": ${texts[reason]}${hints.length > 0 ? ` (${hints.join(', ')})` : ''}`, {
    retryable: retryable.has(reason),
    details: {
      reason,
      model,
      ...omitUndefined({ providerStatus: status, providerCode: code, retryAfterMs, providerText: text }),
    },
    ...omitUndefined({ cause }),
  });
}

type Headers = Readonly<Record<string, string>>;

interface Refused {
  readonly model: string;
  /** 0 for an error inside a stream that has no status. */
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly textOf: ProviderText;
}

/** Creates the error for an HTTP error status or an error object inside a stream. */
export function refusalFailure({ model, status, headers, body, textOf }: Refused, nowMs: number): ModelError {
  const code = codeOf(body);
  const retryAfterMs = retryAfter(headers, nowMs) ?? retryDelay(body);
  const text = textOf(body);
  return failure(reasonOf(status, body), {
    model,
    ...(status === 0 ? {} : { status }),
    ...omitUndefined({ code, retryAfterMs, text }),
  });
}

/** Creates the error for an error object where a piece of the answer should be. */
export function streamFailure(error: unknown, { model, textOf }: Pick<Refused, 'model' | 'textOf'>): ModelError {
  return refusalFailure(
    { model, textOf, status: statusOf(error), headers: {}, body: JSON.stringify({ error }) },
    Date.now(),
  );
}

// Texts, English and Chinese, by which providers distinguish errors with the same status.
const burst = /burst|acceleration limit|rate increased too quickly|增速过快/i;
const quota =
  /insufficient[_ ](quota|balance|credit|fund)|exceeded your current quota|quota[_ ]exceeded|billing|arrearage|payment required|out of (credits?|call volume quota)|credit balance|(spend|usage)[_ ]limits?|余额不足|欠费|额度(已|不足|用)/i;
const auth =
  /invalid[_ ]?api[_ ]?key|api[_ ]key[_ ](not[_ ]valid|invalid)|incorrect api key|unauthori[sz]ed|authentication|permission[_ ]denied|无效的?密钥|鉴权|认证失败|未授权|无权/i;
const contextLength =
  /context[_ ]length|context window|maximum context|too many (input )?tokens|prompt is too long|exceeds? (the )?context limit|model token limit|input token count .{0,40}exceeds|超过.{0,12}(上下文|长度)/i;
const rateLimit = /rate[_ ]?limit|too[_ ]many[_ ]requests|slow_down/i;
const overloaded = /overloaded|server_error|internal_error|api_error|unavailable|timed? ?out/i;

const unknownModel = /model[_ ]not[_ ](exist|found)|(invalid|unknown) model|not a valid model/i;
/** Text by which providers refuse a request with 403 whose key is right. */
const moderated = /moderation|guardrail|content (management )?policy/i;
/** Gemini's 429 for limits per minute has the text of a used-up quota; those per day and of credit differ in this. */
const limitedByGemini = /RESOURCE_EXHAUSTED/;
const usedUpAtGemini = /PerDay|depleted/i;

const statusReasons: Readonly<Record<number, FailureReason>> = {
  401: 'auth',
  402: 'quota',
  403: 'auth',
  404: 'not_found',
  408: 'server',
  409: 'server',
  413: 'context_length',
  425: 'server',
};

/** Error types of Anthropic with the status that they have outside of streams (page "Errors", platform.claude.com, November 2026). */
const typeStatuses: Readonly<Record<string, number>> = {
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** The HTTP status of an error object inside a stream, by its code or its type; 0 when it has none. */
function statusOf(error: unknown): number {
  if (!isRecord(error)) return 0;
  const code = Number(error['status'] ?? error['code']);
  if (Number.isInteger(code) && code >= 400 && code <= 599) return code;
  return typeof error['type'] === 'string' ? (typeStatuses[error['type']] ?? 0) : 0;
}

function reasonOf(status: number, body: string): FailureReason {
  if (status >= 500) return 'server';
  if (isUsedUp(body)) return 'quota';
  if (status === 429 || status === 0) return limitReason(status, body);
  const known = status === 403 && moderated.test(body) ? 'bad_request' : statusReasons[status];
  return known ?? refusedReason(body);
}

const isUsedUp = (body: string): boolean => (limitedByGemini.test(body) ? usedUpAtGemini.test(body) : quota.test(body));

function refusedReason(body: string): FailureReason {
  if (contextLength.test(body)) return 'context_length';
  if (unknownModel.test(body)) return 'not_found';
  return auth.test(body) ? 'auth' : 'bad_request';
}

function limitReason(status: number, body: string): FailureReason {
  if (burst.test(body)) return 'burst';
  if (status === 429 || rateLimit.test(body)) return 'rate_limited';
  if (contextLength.test(body)) return 'context_length';
  if (auth.test(body)) return 'auth';
  return overloaded.test(body) ? 'server' : 'bad_request';
}

/** Returns `code`, else `type`, of the body's error if it looks like an identifier and not like an API key. */
function codeOf(body: string): string | undefined {
  const parsed = objectIn(body);
  if (parsed === undefined) return undefined;
  const error = isRecord(parsed['error']) ? parsed['error'] : parsed;
  return [error['code'], error['type']]
    .map((value) => (typeof value === 'number' ? String(value) : value))
    .find(
      (value): value is string =>
        typeof value === 'string' && value.length <= 48 && /^([a-z]+([_.-][a-z]+)*|\d{1,6})$/i.test(value),
    );
}

const MAX_RETRY_AFTER_MS = 86_400_000;

/** Parses the `retryDelay` of Google's RetryInfo, seconds such as `2s` or `0.5s`; returns milliseconds. */
function retryDelay(body: string): number | undefined {
  const [, seconds] = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(body) ?? [];
  return seconds === undefined ? undefined : Math.min(Math.round(Number(seconds) * 1_000), MAX_RETRY_AFTER_MS);
}

/**
 * Parses `Retry-After-Ms`, else `Retry-After` in seconds or as a date (RFC 9110 §10.2.3), else the time at which the limits that are
 * used up are reset (`anthropic-ratelimit-*`, page "Rate limits", platform.claude.com, November 2026); returns milliseconds.
 */
function retryAfter(headers: Headers, nowMs: number): number | undefined {
  const fine = Number.parseFloat(String(headers['retry-after-ms'] ?? ''));
  const coarse = headers['retry-after'] ?? '';
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(coarse) ? Number(coarse) * 1_000 : Date.parse(coarse) - nowMs;
  const found = [fine, seconds, limitReset(headers) - nowMs].find((value) => Number.isFinite(value));
  return found === undefined ? undefined : Math.min(Math.max(0, Math.round(found)), MAX_RETRY_AFTER_MS);
}

/** When the last of the limits without anything left is reset, in milliseconds since 1970; NaN when there is none. */
function limitReset(headers: Headers): number {
  const resets = ['requests', 'tokens', 'input-tokens', 'output-tokens']
    .filter((limit) => headers[`anthropic-ratelimit-${limit}-remaining`] === '0')
    .map((limit) => Date.parse(String(headers[`anthropic-ratelimit-${limit}-reset`])))
    .filter((reset) => Number.isFinite(reset));
  return resets.length === 0 ? Number.NaN : Math.max(...resets);
}
