import type { FastifyInstance, FastifyRequest } from 'fastify';
import { findPrincipal } from '../auth/principal.js';
import { RequestValue } from './request-value.js';

/** Bounds of an estimate. */
const SHORTEST_MS = 1_000;
const LONGEST_MS = 60_000;
/** Without a refusal for so long, the next one counts as the first. */
const FORGET_MS = 2 * LONGEST_MS;
/** Series of refusals that are remembered; the least recent one is forgotten first. */
const MAX_SERIES = 10_000;

interface Series {
  readonly sinceMs: number;
  readonly lastMs: number;
}

/**
 * Estimates the time after which a refused request would be accepted, where nobody knows it: until a run of the user has
 * ended, until a stream is closed, until Redis is available again. The best guess without knowledge of the cause is that
 * it lasts as long again as it has lasted, so the estimate is the time since the first refusal, between one second and
 * one minute. A request that is accepted ends the series of refusals: one that streams at its start, others at their end.
 */
export class RetryEstimates {
  private readonly series = new Map<string, Series>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Counts a refusal. @returns milliseconds after which the request may be repeated */
  refuse(name: string): number {
    const nowMs = this.nowMs();
    const known = this.series.get(name);
    const sinceMs = known === undefined || nowMs - known.lastMs > FORGET_MS ? nowMs : known.sinceMs;
    this.series.delete(name);
    this.series.set(name, { sinceMs, lastMs: nowMs });
    if (this.series.size > MAX_SERIES) this.forgetOldest();
    return Math.min(Math.max(nowMs - sinceMs, SHORTEST_MS), LONGEST_MS);
  }

  accept(name: string): void {
    this.series.delete(name);
  }

  /** Ends the series of refusals of each request that is accepted. */
  addTo(server: FastifyInstance): void {
    server.addHook('preHandler', (request, _reply, done) => {
      const name = seriesOf(request);
      if (this.series.has(name)) acceptances.set(request.raw, () => this.accept(name));
      done();
    });
    server.addHook('onResponse', (request, reply, done) => {
      if (this.series.size > 0 && reply.statusCode < 400) this.accept(seriesOf(request));
      done();
    });
  }

  private forgetOldest(): void {
    const [oldest] = this.series.keys();
    if (oldest !== undefined) this.series.delete(oldest);
  }
}

/** Functions that end the series of refusals of a request. */
const acceptances = new RequestValue<() => void>('acceptance');

/** Ends the refusals of a request whose answer has begun and may take long. */
export function endRefusals({ raw }: FastifyRequest): void {
  acceptances.get(raw)?.();
}

/** The series that the refusals of a request belong to: those of one user on one route. */
export const seriesOf = (request: FastifyRequest): string =>
  `${findPrincipal(request)?.userId ?? ''} ${request.method} ${request.routeOptions.url ?? ''}`;
