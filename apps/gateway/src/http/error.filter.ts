import { AppError, omitUndefined, QuotaError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SignInRefusal } from '../auth/sign-in-refusal.js';
import { addQuota, isFreedByTime } from './rate-limit-headers.js';
import { type RetryEstimates, seriesOf } from './retry-estimates.js';

interface Answer {
  readonly status: number;
  readonly detail: string;
  /** Code by which web clients recognize this refusal. */
  readonly reason?: string;
  /** Time after which the request would be accepted, where it is known. */
  readonly retryAfterMs?: number;
  /** Further fields of the body, for programs. */
  readonly shown?: Readonly<Record<string, unknown>>;
}

const MAX_DETAIL_CHARS = 1_000;

/** Statuses of requests that are refused because of a limit, an overload or an unavailable dependency. */
const REFUSALS: ReadonlySet<number> = new Set([429, 503]);

/**
 * Turns every error of a request into `{"detail": …}`: with its message for errors of the client, without for internal
 * ones.
 */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly logger: Logger,
    private readonly metrics: Pick<Metrics, 'requestRefused'>,
    private readonly estimates: Pick<RetryEstimates, 'refuse'>,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const answer = answerFor(error);
    if (answer.status >= 500) {
      const fields = { error, method: request.method, route: request.routeOptions.url, status: answer.status };
      this.logger.error(fields, 'request failed');
    }
    if (error instanceof AppError && REFUSALS.has(answer.status)) this.metrics.requestRefused(reasonOf(error));
    // A hijacked response has already begun; the code that hijacked it ends it.
    if (reply.sent) return;
    if (error instanceof QuotaError) addQuota(reply, error.use);
    const isEstimated = REFUSALS.has(answer.status) && !(error instanceof QuotaError && !isFreedByTime(error.use));
    const retryAfterMs = answer.retryAfterMs ?? (isEstimated ? this.estimates.refuse(seriesOf(request)) : undefined);
    if (retryAfterMs !== undefined) void reply.header('retry-after', Math.max(1, Math.ceil(retryAfterMs / 1_000)));
    const text = answer.detail.slice(0, MAX_DETAIL_CHARS);
    const detail = answer.reason === undefined ? text : { code: answer.reason, message: text };
    void reply.status(answer.status).send({ detail, ...answer.shown });
  }
}

export const UNKNOWN_PATH =
  'this server does not know this path: what was asked for is not a part of it, or the address is misspelled';

/** Why a request was refused: a value of the label `reason` in metrics. */
const reasonOf = ({ code, details: { refusal } }: AppError): string => (typeof refusal === 'string' ? refusal : code);

/** Status and text for an error of any origin. */
export function answerFor(error: unknown): Answer {
  if (error instanceof AppError) return appAnswer(error);
  if (error instanceof HttpException) return clientAnswer(error.getStatus(), error.message);
  const status = statusOf(error);
  return status === undefined ? INTERNAL : clientAnswer(status, error instanceof Error ? error.message : 'bad request');
}

const INTERNAL: Answer = { status: 500, detail: 'internal error' };

function appAnswer(error: AppError): Answer {
  if (!error.expected) return INTERNAL;
  const known = error.details['retryAfterMs'];
  const retryAfterMs = typeof known === 'number' ? known : undefined;
  const detail = error.message;
  const reason = error instanceof SignInRefusal ? { reason: error.reason } : {};
  const shown = isRecord(error.details['shown']) ? { shown: error.details['shown'] } : {};
  return { status: error.status, detail, ...reason, ...shown, ...omitUndefined({ retryAfterMs }) };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** The answer for an error of Fastify or Nest: unknown path, body too large, wrong content type, malformed URL. */
function clientAnswer(status: number, message: string): Answer {
  if (status >= 500) return INTERNAL;
  const texts: Partial<Record<number, string>> = {
    404: UNKNOWN_PATH,
    413: 'the body is larger than the limit',
    415: 'the content type must be application/json',
  };
  return { status, detail: texts[status] ?? message };
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return undefined;
  const { statusCode } = error;
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : undefined;
}
