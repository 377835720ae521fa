import { isRecord } from '@caribou/contracts';

type Json = Readonly<Record<string, unknown>>;

/** "Error Codes", platform.minimax.io, November 2026, as the HTTP status with the same meaning; others are refused requests. */
const statusOfMinimax: Readonly<Record<number, number>> = {
  1000: 500,
  1001: 504,
  1002: 429,
  1004: 401,
  1008: 402,
  1013: 500,
  1024: 500,
  1033: 500,
  1039: 413,
  1041: 429,
  2045: 429,
  2049: 401,
  2056: 429,
};

/**
 * Finish reasons that mean that the provider failed: OpenRouter's `error`, DeepSeek's when it has no capacity, and Gemini's for calls
 * that it could not parse.
 */
const failedEnds: ReadonlySet<string> = new Set(['error', 'function_call_filter', 'insufficient_system_resource']);

/** The finish reason without the detail that Gemini adds to it, as in `content_filter: SAFETY`. */
export const kindOfEnd = (reason: string): string => /^[a-z_]+(?=: )/.exec(reason)?.[0] ?? reason;

/**
 * The error that an event reports in place of a piece of the answer; undefined when it reports none. Forms: `error`, `object: error`
 * of vLLM and Mistral, and `base_resp` of MiniMax.
 */
export function failureIn(event: Json): unknown {
  const error = event['error'];
  if (error !== undefined && error !== null) return error;
  if (event['object'] === 'error') return event;
  const base = event['base_resp'];
  if (!isRecord(base) || typeof base['status_code'] !== 'number' || base['status_code'] === 0) return undefined;
  return {
    message: base['status_msg'],
    code: base['status_code'],
    status: statusOfMinimax[base['status_code']] ?? 400,
  };
}

/** The error of an answer whose finish reason says that the provider failed; undefined for other reasons. */
export function failureOfEnd(reason: string, choice: Json): unknown {
  if (!failedEnds.has(kindOfEnd(reason))) return undefined;
  if (isRecord(choice['error'])) return choice['error'];
  const native = choice['native_finish_reason'];
  const detail = typeof native === 'string' ? ` (${native})` : '';
  return { message: `the answer ended with the finish reason ${reason}${detail}`, code: 'server_error' };
}
