import {
  fileHistoryRoutes,
  RateLimitedError,
  threadRoutes,
  runRoutes,
  runEventRoutes,
  messageRoutes,
} from '@caribou/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findPrincipal } from '../auth/principal.js';
import { RequestValue } from './request-value.js';
import { API_ROOTS } from './route.decorators.js';
import { LARGE_BYTES } from './sliced-json.js';

/** Concurrent reads of whole states by one user; further reads wait. */
const MAX_AT_ONCE = 4;
const MAX_WAITING = 100;
const MAX_WAIT_MS = 30_000;

/** Routes whose work and answer grow with the size of a thread. */
const routes = [
  ...[threadRoutes.search, threadRoutes.get, threadRoutes.copy, threadRoutes.tokenUsage, threadRoutes.state],
  ...[threadRoutes.stateAt, threadRoutes.stateAtCheckpoint, threadRoutes.updateState, threadRoutes.history],
  ...[threadRoutes.count, runRoutes.list, messageRoutes.page, messageRoutes.list, messageRoutes.ofRun],
  runEventRoutes.list,
  ...[fileHistoryRoutes.list, fileHistoryRoutes.diff, fileHistoryRoutes.workspaceChanges],
];
const limited = new Set(routes.flatMap(({ method, path }) => API_ROOTS.map((root) => `${method} /${root}${path}`)));

interface User {
  active: number;
  readonly waiting: (() => void)[];
}

/**
 * Bounds the memory that the reads of one user take: only a few run at once, and a read with a large answer holds its
 * slot until the client has received it.
 */
export class LargeAnswers {
  private readonly users = new Map<string, User>();
  private readonly releases = new RequestValue<() => void>('release of a large answer');

  addTo(server: FastifyInstance): void {
    server.addHook('preHandler', async (request, reply) => {
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      const principal = findPrincipal(request);
      if (principal === undefined || !limited.has(`${method} ${request.routeOptions.url ?? ''}`)) return;
      await this.enter(principal.userId, request, reply);
    });
    server.addHook('onSend', (request, _reply, payload, done) => {
      if (typeof payload !== 'string' || payload.length < LARGE_BYTES) this.releases.get(request.raw)?.();
      done(null, payload);
    });
  }

  private async enter(userId: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const user = this.users.get(userId) ?? { active: 0, waiting: [] };
    this.users.set(userId, user);
    if (user.active >= MAX_AT_ONCE) await slotOf(user);
    else user.active += 1;
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      const next = user.waiting.shift();
      if (next !== undefined) next();
      else user.active -= 1;
      if (user.active === 0) this.users.delete(userId);
    };
    this.releases.set(request.raw, release);
    reply.raw.once('close', release);
    if (reply.raw.closed) release();
  }
}

/** Waits for the slot of another read. @throws {RateLimitedError} when too many reads wait, or the wait is too long */
function slotOf(user: User): Promise<void> {
  if (user.waiting.length >= MAX_WAITING) throw tooMany();
  return new Promise((resolve, reject) => {
    const begin = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      user.waiting.splice(user.waiting.indexOf(begin), 1);
      reject(tooMany());
    }, MAX_WAIT_MS);
    user.waiting.push(begin);
  });
}

const tooMany = (): RateLimitedError =>
  new RateLimitedError(`${MAX_AT_ONCE} large answers at once is the limit of one user`, {
    details: { limit: MAX_AT_ONCE, refusal: 'large_answers' },
  });
