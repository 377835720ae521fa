import { RateLimitedError } from '@caribou/contracts';
import type { QuotasConfig } from '@caribou/config';
import type { BucketName, RequestBuckets } from '@caribou/state';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findPrincipal, type Principal } from '../auth/principal.js';
import { addRateLimit } from './rate-limit-headers.js';
import { RequestValue } from './request-value.js';
import { RefusalDelay } from './refusal-delay.js';
import { SlowDiscard } from './slow-discard.js';
import { TokenBuckets } from './token-buckets.js';

/** Bytes of a body and of an answer that cost one token, so that a large request costs as much as many small ones. */
const BODY_BYTES = 16 * 1024;
const ANSWER_BYTES = 32 * 1024;

export type RequestRates = Pick<
  QuotasConfig,
  'requestsPerSecond' | 'requestBurst' | 'keyRequestsPerSecond' | 'keyRequestBurst'
>;
type Sender = Pick<Principal, 'userId' | 'keyId'>;

/** A bucket that a request counts against. */
interface Limit {
  readonly kind: BucketName['kind'];
  readonly id: string;
  readonly buckets: TokenBuckets;
}

/**
 * Limits the requests of each user and of each API key. Costs of a request beyond one token are charged afterwards and
 * may leave a debt.
 */
export class RequestBudget {
  private readonly users: TokenBuckets | undefined;
  private readonly keys: TokenBuckets | undefined;

  constructor(rates: RequestRates, shared: RequestBuckets) {
    const create = (kind: BucketName['kind'], perSecond: number, burst: number): TokenBuckets | undefined =>
      perSecond === 0 ? undefined : new TokenBuckets(kind, { perSecond, burst }, shared);
    this.users = create('user', rates.requestsPerSecond, rates.requestBurst);
    this.keys = create('key', rates.keyRequestsPerSecond, rates.keyRequestBurst);
  }

  /** Takes a token of each limit for a request. Returns undefined, or the limit that has none and takes longest. */
  take(sender: Sender): Limit | undefined {
    const limits = this.limitsOf(sender);
    const [exceeded] = limits.filter((limit) => waitMs(limit) > 0).sort((one, other) => waitMs(other) - waitMs(one));
    if (exceeded === undefined) for (const { buckets, id } of limits) buckets.spend(id, 1);
    return exceeded;
  }

  /** Adds the limits of the sender, and what is left of them, to the headers of an answer. */
  addHeaders(reply: FastifyReply, sender: Sender): void {
    for (const { kind, id, buckets } of this.limitsOf(sender)) {
      const { perSecond, burst } = buckets.rate;
      const { remaining, fullInMs } = buckets.state(id);
      addRateLimit(reply, {
        policy: kind,
        quota: burst,
        windowSeconds: Math.ceil(burst / perSecond),
        remaining,
        resetSeconds: Math.ceil((remaining === 0 ? buckets.waitMs(id) : fullInMs) / 1_000),
      });
    }
  }

  chargeBody(sender: Sender, bytes: number): void {
    this.charge(sender, Math.floor(bytes / BODY_BYTES));
  }

  chargeAnswer(sender: Sender, bytes: number): void {
    this.charge(sender, Math.floor(bytes / ANSWER_BYTES));
  }

  private charge(sender: Sender, tokens: number): void {
    if (tokens === 0) return;
    for (const { buckets, id } of this.limitsOf(sender)) buckets.spend(id, tokens);
  }

  private limitsOf({ userId, keyId }: Sender): Limit[] {
    const limits: Limit[] = [];
    if (this.users !== undefined) limits.push({ kind: 'user', id: userId, buckets: this.users });
    if (this.keys !== undefined && keyId !== undefined) limits.push({ kind: 'key', id: keyId, buckets: this.keys });
    return limits;
  }
}

/** Milliseconds until the limit allows a request. */
const waitMs = ({ buckets, id }: Limit): number => buckets.waitMs(id);

/** The error for a request over a limit, with the time from now until the limit allows one. */
function createRefusal(exceeded: Limit): RateLimitedError {
  const limit = exceeded.buckets.rate.perSecond;
  const sender = exceeded.kind === 'key' ? ' with one API key' : '';
  return new RateLimitedError(
    `more than ${limit} requests per second${sender}, large bodies and answers counting as several`,
    { details: { retryAfterMs: waitMs(exceeded), limit } },
  );
}

/** Functions that charge the sender of a request for bytes at the rate of answers. */
const charges = new RequestValue<(bytes: number) => void>('charge');

/** A command on a socket that exceeds the rate of its sender. */
export interface ExceededRate {
  readonly error: RateLimitedError;
  /** Milliseconds until the limit allows one. */
  readonly waitMs: number;
}

/** Functions that take a token for each command on the socket that a request opened, and charge for its bytes. */
const commands = new RequestValue<(bytes: number) => ExceededRate | undefined>('charge of a command');

/** Takes a token for a command of this many bytes on the socket that `request` opened, as for a request of its own. */
export function takeForCommand({ raw }: FastifyRequest, bytes: number): ExceededRate | undefined {
  return commands.get(raw)?.(bytes);
}

/** Adds bytes that a request has read or copied in the store to its cost. */
export function addStoreWork({ raw }: FastifyRequest, bytes: number): void {
  charges.get(raw)?.(bytes);
}

/** Takes a token for each request of a known user before its body is read, and charges for the answer afterwards. */
export function addRequestBudget(server: FastifyInstance, budget: RequestBudget): void {
  const delay = new RefusalDelay();
  const bodies = new SlowDiscard();
  server.addHook('onRequest', async (request, reply) => {
    const principal = findPrincipal(request);
    if (principal === undefined) return;
    charges.set(request.raw, (bytes) => budget.chargeAnswer(principal, bytes));
    commands.set(request.raw, (bytes) => {
      const limit = budget.take(principal);
      if (limit !== undefined) return { error: createRefusal(limit), waitMs: waitMs(limit) };
      budget.chargeBody(principal, bytes);
      return undefined;
    });
    const exceeded = budget.take(principal);
    if (exceeded !== undefined) {
      bodies.read(request, reply, principal.userId);
      await delay.pass(principal.userId, waitMs(exceeded));
    }
    budget.addHeaders(reply, principal);
    if (exceeded !== undefined) throw createRefusal(exceeded);
  });
  server.addHook('onSend', async (request, _reply, payload) => {
    const principal = findPrincipal(request);
    if (principal !== undefined && typeof payload === 'string') budget.chargeAnswer(principal, payload.length);
    return payload;
  });
}
