import {
  ConflictError,
  FleetSandboxes,
  managerSubject,
  NotFoundError,
  omitUndefined,
  type RouteInput,
  SandboxEnd,
  type SandboxesReply,
  type SandboxInfo,
  type sandboxRoutes,
} from '@caribou/contracts';
import type { SandboxRegistry, ThreadKey } from '@caribou/core';
import { Injectable } from '@nestjs/common';
import { Dependency, type GatewayBus } from '../dependency.js';
import { asked, FleetService, reachable } from './fleet.service.js';
import type { Actor } from './model-states.service.js';

/** Maximum number of managers whose answers are read. */
const MAX_MANAGERS = 500;

type ListQuery = RouteInput<typeof sandboxRoutes.list>['query'];

/**
 * The sandboxes of all managers. Managers are asked, because bindings in Redis outlive sandboxes: with its manager a sandbox is gone,
 * or is ended by the manager that takes its thread over.
 */
@Injectable()
export class SandboxesService {
  constructor(
    @Dependency('bus') private readonly bus: Pick<GatewayBus, 'askAll' | 'call'>,
    @Dependency('sandboxBindings') private readonly bindings: Pick<SandboxRegistry, 'binding' | 'isManagerAlive'>,
    private readonly fleet: FleetService,
  ) {}

  async list({ user_id: userId, limit, cursor }: ListQuery): Promise<SandboxesReply> {
    const after = cursor === undefined ? undefined : positionOf(cursor);
    const request = { limit: limit + 1, ...omitUndefined({ user_id: userId, after }) };
    const answers = await asked(this.bus.askAll(FleetSandboxes, request, { maxReplies: MAX_MANAGERS }));
    const replies = 'value' in answers ? answers.value.replies : [];
    const found = replies
      .flatMap(({ manager_id, host, sandboxes }) => sandboxes.map((one) => ({ ...one, manager_id, host })))
      .sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      sandboxes: page,
      total: replies.reduce((sum, { total }) => sum + total, 0),
      next: found.length > limit && last !== undefined ? nameOf(last) : null,
      silent_managers: [...(await this.fleet.silentManagers(new Set(replies.map((reply) => reply.manager_id))))],
      nats: reachable(answers),
    };
  }

  /**
   * @throws {NotFoundError} when no live manager has a sandbox of the thread
   * @throws {ConflictError} when the sandbox of `since` is gone and another one is there
   * @throws {UnavailableError} when its manager does not answer, or has failed to end it
   */
  async end({ userId, threadId }: ThreadKey, since: string | undefined, { by, from }: Actor) {
    const record = await this.bindings.binding({ userId, threadId });
    if (record === null || !(await this.bindings.isManagerAlive(record.managerId)))
      throw new NotFoundError('the thread has no live sandbox');
    const target = { contract: SandboxEnd, subject: managerSubject(record.managerId, SandboxEnd) };
    const thread = { user_id: userId, thread_id: threadId };
    const request = { ...thread, decided_by: by, decided_from: from, ...omitUndefined({ since }) };
    const { outcome, commands } = await this.bus.call(target, request);
    if (outcome === 'not_held') throw new NotFoundError('the thread has no live sandbox');
    if (outcome === 'another') throw new ConflictError('since: the thread has another sandbox by now');
    return { commands };
  }
}

const nameOf = ({ user_id, thread_id }: Pick<SandboxInfo, 'user_id' | 'thread_id'>): string =>
  `${user_id}/${thread_id}`;

function positionOf(cursor: string) {
  const at = cursor.indexOf('/');
  return { user_id: cursor.slice(0, at), thread_id: cursor.slice(at + 1) };
}
