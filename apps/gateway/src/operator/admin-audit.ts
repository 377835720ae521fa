import { Injectable } from '@nestjs/common';
import { AppError, newId, omitUndefined } from '@caribou/contracts';
import type { AdminLine, AuditTrail } from '@caribou/state';
import type { FastifyRequest } from 'fastify';
import { principalOf } from '../auth/principal.js';
import { Dependency } from '../dependency.js';

/** The administrator who acts. */
export interface Actor {
  readonly userId: string;
  readonly address: string;
}

export const actorOf = (request: FastifyRequest): Actor => ({
  userId: principalOf(request).userId,
  address: request.ip,
});

/** What an administrator does, and to whose work. */
export interface AdminAct extends Pick<AdminLine, 'operation' | 'what'> {
  readonly userId: string;
  readonly threadId?: string | undefined;
  readonly runId?: string | undefined;
}

/** The line of an act for the script that does it. */
export const adminLine = ({ operation, what, userId, threadId, runId }: AdminAct, actor: Actor): AdminLine => ({
  id: newId(),
  user_id: userId,
  ...omitUndefined({ thread_id: threadId, run_id: runId }),
  operation,
  what,
  verdict: 'ok',
  decided_by: actor.userId,
  decided_from: actor.address,
});

/** Records acts of administrators that no script records by itself. */
@Injectable()
export class AdminAudit {
  constructor(@Dependency('auditTrail') private readonly trail: Pick<AuditTrail, 'write'>) {}

  /**
   * Does something after a line says that it was requested, so that nothing is done unrecorded. A failure is a second line with the
   * same id.
   */
  async record<Result>(act: AdminAct, actor: Actor, work: () => Promise<Result>): Promise<Result> {
    const line = adminLine(act, actor);
    await this.trail.write({ ...line, verdict: 'requested' });
    try {
      return await work();
    } catch (error) {
      const code = error instanceof AppError ? error.code : 'internal';
      await this.trail.write({ ...line, verdict: `error:${code}` });
      throw error;
    }
  }
}
