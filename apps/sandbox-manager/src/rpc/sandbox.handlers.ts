import {
  machineSubject,
  managerSubject,
  ReceivedSandboxWrite,
  RateLimitedError,
  type RpcContract,
  SandboxAcquire,
  SandboxBlocked,
  SandboxCancel,
  SandboxEdit,
  SandboxEnd,
  SandboxExec,
  SandboxGlob,
  SandboxGrep,
  SandboxList,
  SandboxProbe,
  SandboxPublish,
  SandboxPublishLeft,
  SandboxRead,
  SandboxReadBytes,
  SandboxRelease,
  SandboxStat,
  SandboxWrite,
} from '@caribou/contracts';
import { Limiter, systemClock, type ThreadKey } from '@caribou/core';
import { parseRequest } from '@caribou/nest';
import type { ThreadFiles } from '@caribou/files';
import type { SandboxDrivers } from '@caribou/sandbox';
import { Controller, Inject } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import type { FilePlane } from '../files/open-file-plane.js';
import type { MachineElsewhere, ThreadFileSync } from '../files/thread-file-sync.js';
import type { z } from 'zod';
import type { Executor } from '../executions/executor.js';
import { createEditExecution } from './file-edit.js';
import { globFiles, grepFiles, listFiles, statFiles } from './file-lookups.js';
import type { HeldSandboxes } from './held-sandboxes.js';
import { PathLocks } from './path-locks.js';
import {
  createCommandExecution,
  readFileBytes,
  readFileLines,
  createWriteExecution,
  type OutputPublisher,
  threadOf,
} from './sandbox-commands.js';
import type { SandboxPool } from '../executions/sandbox-pool.js';

/** The services that answer the requests. */
export interface SandboxParts {
  readonly pool: SandboxPool;
  readonly executor: Executor;
  readonly files: ThreadFiles;
  readonly sync: ThreadFileSync;
  readonly plane: Pick<FilePlane, 'leftChanges' | 'notices'>;
  readonly drivers: Pick<SandboxDrivers, 'forNewThread'>;
  readonly outputs: OutputPublisher;
  readonly held: Pick<HeldSandboxes, 'end'>;
}

export const SANDBOX_PARTS = Symbol('SandboxParts');

/** Longest time to store what a gateway waits for: less than the deadline of its request. */
const SETTLE_MS = 15_000;

/** How long a reader waits until the end of a manager is noticed by others of its machine, and how often they look, in milliseconds. */
const LEFT_MS = 3_000;
const LEFT_LOOK_MS = 100;

/** Limits of concurrent searches, because each one occupies a worker thread until it ends. */
const SEARCHES = {
  maxRunning: 4,
  maxWaiting: 64,
  errorWhenFull: () => new RateLimitedError('too many searches at once', { details: { retryAfterMs: 1000 } }),
};

/** The subject of an operation on this manager; the id, which is created at start-up, replaces `{manager_id}`. */
const ownSubject = (contract: RpcContract): string => managerSubject('{manager_id}', contract);

/**
 * The NATS request handlers of a manager. Every manager serves `sandbox.acquire`, `sandbox.probe` and `sandbox.blocked`
 * through a queue group, so that any of them may answer; the other operations have subjects of this manager. A caller
 * that stops waiting for its reply does not end the operation.
 */
@Controller()
export class SandboxHandlers {
  private readonly locks = new PathLocks();
  private readonly searches = new Limiter(SEARCHES);

  constructor(@Inject(SANDBOX_PARTS) private readonly parts: SandboxParts) {}

  @MessagePattern(SandboxAcquire.name)
  async acquire(@Payload() payload: unknown): Promise<Acquired> {
    const request = parseRequest(SandboxAcquire, payload);
    const elsewhere = request.elsewhere === true ? await this.machineFor(threadOf(request)) : undefined;
    if (elsewhere === undefined) return this.acquireHere(payload);
    const { machine, waitMs } = elsewhere;
    return { machine, ...(waitMs === undefined ? {} : { wait_ms: waitMs }) };
  }

  /** The same for a thread whose files are on this machine. */
  @MessagePattern(machineSubject('{machine}'))
  async acquireHere(@Payload() payload: unknown): Promise<Acquired> {
    const request = parseRequest(SandboxAcquire, payload);
    this.parts.executor.assertAccepting();
    const record = await this.parts.pool.acquire(threadOf(request), request.epoch);
    const { sandboxId, managerId, driver } = record;
    return { sandbox_id: sandboxId, manager_id: managerId, driver, attachments: true };
  }

  @MessagePattern(SandboxProbe.name)
  async probe() {
    this.parts.executor.assertAccepting();
    return { driver: (await this.parts.drivers.forNewThread()).kind };
  }

  /** Answers a command that the rules have blocked. The answer has no effect except that the interceptor audits it. */
  @MessagePattern(SandboxBlocked.name)
  acknowledgeBlocked(@Payload() payload: unknown) {
    parseRequest(SandboxBlocked, payload);
    return { outcome: 'blocked' };
  }

  @MessagePattern(ownSubject(SandboxExec))
  async exec(@Payload() payload: unknown) {
    const { executor, outputs, plane } = this.parts;
    const request = parseRequest(SandboxExec, payload);
    const reply = await executor.execute(createCommandExecution(request, outputs, systemClock));
    if (reply.outcome === 'done') await plane.notices?.onStored(threadOf(request), reply.stderr);
    return reply;
  }

  @MessagePattern(ownSubject(SandboxWrite))
  write(@Payload() payload: unknown) {
    return this.parts.executor.execute(
      createWriteExecution(parseRequest(ReceivedSandboxWrite, payload), this.parts.files, this.locks),
    );
  }

  @MessagePattern(ownSubject(SandboxRead))
  async read(@Payload() payload: unknown) {
    const request = await this.authorizeRead(parseRequest(SandboxRead, payload));
    return readFileLines(request, this.parts.files);
  }

  @MessagePattern(ownSubject(SandboxReadBytes))
  async readBytes(@Payload() payload: unknown) {
    return readFileBytes(await this.authorizeRead(parseRequest(SandboxReadBytes, payload)), this.parts.files);
  }

  @MessagePattern(ownSubject(SandboxEdit))
  edit(@Payload() payload: unknown) {
    return this.parts.executor.execute(
      createEditExecution(parseRequest(SandboxEdit, payload), this.parts.files, this.locks),
    );
  }

  @MessagePattern(ownSubject(SandboxList))
  async list(@Payload() payload: unknown) {
    return listFiles(await this.authorizeRead(parseRequest(SandboxList, payload)), this.parts.files);
  }

  @MessagePattern(ownSubject(SandboxGlob))
  async glob(@Payload() payload: unknown) {
    return globFiles(await this.authorizeRead(parseRequest(SandboxGlob, payload)), this.parts.files);
  }

  @MessagePattern(ownSubject(SandboxGrep))
  async grep(@Payload() payload: unknown) {
    const request = await this.authorizeRead(parseRequest(SandboxGrep, payload));
    return this.searches.run(() => grepFiles(request, this.parts.files));
  }

  @MessagePattern(ownSubject(SandboxStat))
  async stat(@Payload() payload: unknown) {
    return statFiles(await this.authorizeRead(parseRequest(SandboxStat, payload)), this.parts.files);
  }

  @MessagePattern(ownSubject(SandboxCancel))
  async cancel(@Payload() payload: unknown) {
    const request = parseRequest(SandboxCancel, payload);
    return { cancelled: await this.parts.executor.cancel(threadOf(request), request.epoch, request.key) };
  }

  /** Ends a sandbox for an administrator, who acts for no run. */
  @MessagePattern(ownSubject(SandboxEnd))
  end(@Payload() payload: unknown): Promise<z.output<(typeof SandboxEnd)['reply']>> {
    return this.parts.held.end(parseRequest(SandboxEnd, payload));
  }

  @MessagePattern(ownSubject(SandboxPublish))
  async publish(@Payload() payload: unknown): Promise<z.output<(typeof SandboxPublish)['reply']>> {
    const thread = threadOf(parseRequest(SandboxPublish, payload));
    const { pool, sync } = this.parts;
    if (!pool.holdsThread(thread) && !sync.knows(thread)) return { outcome: 'not_held' };
    return { outcome: (await sync.settle(thread, SETTLE_MS)) ? 'published' : 'nothing' };
  }

  @MessagePattern(managerSubject('{machine}', SandboxPublishLeft))
  async publishLeft(@Payload() payload: unknown): Promise<z.output<(typeof SandboxPublishLeft)['reply']>> {
    const thread = threadOf(parseRequest(SandboxPublishLeft, payload));
    for (let leftMs = LEFT_MS; !(await this.parts.pool.isHeldOrUnbound(thread)); leftMs -= LEFT_LOOK_MS) {
      if (leftMs <= 0) return { outcome: 'not_left' };
      await systemClock.sleep(LEFT_LOOK_MS);
    }
    return { outcome: (await this.parts.plane.leftChanges?.store(thread)) ?? 'nothing' };
  }

  @MessagePattern(ownSubject(SandboxRelease))
  release(@Payload() payload: unknown) {
    const request = parseRequest(SandboxRelease, payload);
    return { released: this.parts.pool.release(threadOf(request), request.sandbox_id) };
  }

  /** The other machine that should get the thread, as it has the files and no manager is bound to it. */
  private async machineFor(thread: ThreadKey): Promise<MachineElsewhere | undefined> {
    const elsewhere = await this.parts.sync.machineElsewhere(thread);
    return elsewhere !== undefined && (await this.parts.pool.isUnbound(thread)) ? elsewhere : undefined;
  }

  /**
   * Returns the request when the caller may read in the sandbox.
   *
   * @throws {FencedError} unless the request has the thread's current epoch
   * @throws {NotFoundError} when this manager does not hold the sandbox, or has given it back
   * @throws {UnavailableError} while this manager has no lease, or when files that changed elsewhere cannot be brought here
   */
  private async authorizeRead<Request extends HeldSandboxRequest>(request: Request): Promise<Request> {
    this.parts.executor.assertHeld();
    await this.parts.executor.requireServed(threadOf(request));
    this.parts.pool.requireHeld(threadOf(request), request.sandbox_id);
    await this.parts.executor.requireEpoch(threadOf(request), request.epoch);
    await this.parts.sync.refresh(threadOf(request));
    return request;
  }
}

type Acquired = z.output<(typeof SandboxAcquire)['reply']>;

interface HeldSandboxRequest {
  readonly user_id: string;
  readonly thread_id: string;
  readonly sandbox_id: string;
  readonly epoch: number;
}
