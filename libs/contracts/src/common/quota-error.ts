import { type AppErrorOptions, RateLimitedError } from './errors.js';

/** A quota of a user, and how much of it is used. */
export interface QuotaUse {
  readonly quota:
    | 'runs'
    | 'queued-runs'
    | 'steering'
    | 'steering-bytes'
    | 'run-bytes'
    | 'threads'
    | 'streams'
    | 'crons'
    | 'delayed-runs'
    | 'webhook-events'
    | 'assistants'
    | 'assistant-bytes'
    | 'store-items'
    | 'store-bytes';
  readonly limit: number;
  readonly used: number;
}

/** 429: a quota of a user is used up. */
export class QuotaError extends RateLimitedError {
  constructor(
    message: string,
    readonly use: QuotaUse,
    { details, ...options }: AppErrorOptions = {},
  ) {
    super(message, { ...options, details: { ...details, refusal: use.quota.replace('-', '_'), limit: use.limit } });
  }
}
