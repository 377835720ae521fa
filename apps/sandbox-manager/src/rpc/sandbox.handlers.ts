import {
  managerSubject,
  RateLimitedError,
  type RpcContract,
  SandboxAcquire,
  SandboxBlocked,
  SandboxCancel,
  SandboxEdit,
  SandboxExec,
  SandboxGlob,
  SandboxGrep,
  SandboxList,
  SandboxProbe,
  SandboxRead,
  SandboxReadBytes,
  SandboxRelease,
  SandboxStat,
  SandboxWrite,
} from '@caribou/contracts';
import { Limiter, systemClock } from '@caribou/core';
import { parseRequest } from '@caribou/nest';
import type { ThreadFiles } from '@caribou/files';
import type { SandboxDrivers } from '@caribou/sandbox';
import { Controller, Inject } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import type { Executor } from '../executions/executor.js';
import { fileEdit } from './file-edit.js';
import { fileGlob, fileGrep, fileList, fileStat } from './file-lookups.js';
import { PathLocks } from './path-locks.js';
import { execution, fileBytes, fileRead, fileWrite, type OutputPublisher, threadOf } from './sandbox-commands.js';
import type { SandboxPool } from '../executions/sandbox-pool.js';

/** What the handlers hand their requests to. */
export interface SandboxParts {
  readonly pool: SandboxPool;
  readonly executor: Executor;
  readonly files: ThreadFiles;
  readonly drivers: Pick<SandboxDrivers, 'forNewThread'>;
  readonly outputs: OutputPublisher;
}

export const SANDBOX_PARTS = Symbol('SandboxParts');

/** Each search is a thread of its own for as long as it takes. */
const SEARCHES = {
  maxRunning: 4,
  maxWaiting: 64,
  errorWhenFull: () => new RateLimitedError('too many searches at once', { details: { retryAfterMs: 1000 } }),
};

/** Stands in the patterns for the id that a manager has only once it runs. */
const own = (contract: RpcContract): string => managerSubject('{manager_id}', contract);

/**
 * The RPC surface of a manager: `sandbox.acquire` is shared by all, the rest is on its own subjects. A reply that
 * nobody waits for any more changes nothing.
 */
@Controller()
export class SandboxHandlers {
  private readonly locks = new PathLocks();
  private readonly searches = new Limiter(SEARCHES);

  constructor(@Inject(SANDBOX_PARTS) private readonly parts: SandboxParts) {}

  @MessagePattern(SandboxAcquire.name)
  async acquire(@Payload() payload: unknown) {
    const request = parseRequest(SandboxAcquire, payload);
    this.parts.executor.assertAccepting();
    const record = await this.parts.pool.acquire(threadOf(request), request.epoch);
    return { sandbox_id: record.sandboxId, manager_id: record.managerId, driver: record.driver };
  }

  @MessagePattern(SandboxProbe.name)
  async probe() {
    this.parts.executor.assertAccepting();
    return { driver: (await this.parts.drivers.forNewThread()).kind };
  }

  /** Answering is all there is to do: what is answered is audited. */
  @MessagePattern(SandboxBlocked.name)
  blocked(@Payload() payload: unknown) {
    parseRequest(SandboxBlocked, payload);
    return { outcome: 'blocked' };
  }

  @MessagePattern(own(SandboxExec))
  exec(@Payload() payload: unknown) {
    const { executor, outputs } = this.parts;
    return executor.execute(execution(parseRequest(SandboxExec, payload), outputs, systemClock));
  }

  @MessagePattern(own(SandboxWrite))
  write(@Payload() payload: unknown) {
    return this.parts.executor.execute(fileWrite(parseRequest(SandboxWrite, payload), this.parts.files, this.locks));
  }

  @MessagePattern(own(SandboxRead))
  async read(@Payload() payload: unknown) {
    const request = await this.admitted(parseRequest(SandboxRead, payload));
    return fileRead(request, this.parts.files);
  }

  @MessagePattern(own(SandboxReadBytes))
  async readBytes(@Payload() payload: unknown) {
    return fileBytes(await this.admitted(parseRequest(SandboxReadBytes, payload)), this.parts.files);
  }

  @MessagePattern(own(SandboxEdit))
  edit(@Payload() payload: unknown) {
    return this.parts.executor.execute(fileEdit(parseRequest(SandboxEdit, payload), this.parts.files, this.locks));
  }

  @MessagePattern(own(SandboxList))
  async list(@Payload() payload: unknown) {
    return fileList(await this.admitted(parseRequest(SandboxList, payload)), this.parts.files);
  }

  @MessagePattern(own(SandboxGlob))
  async glob(@Payload() payload: unknown) {
    return fileGlob(await this.admitted(parseRequest(SandboxGlob, payload)), this.parts.files);
  }

  @MessagePattern(own(SandboxGrep))
  async grep(@Payload() payload: unknown) {
    const request = await this.admitted(parseRequest(SandboxGrep, payload));
    return this.searches.run(() => fileGrep(request, this.parts.files));
  }

  @MessagePattern(own(SandboxStat))
  async stat(@Payload() payload: unknown) {
    return fileStat(await this.admitted(parseRequest(SandboxStat, payload)), this.parts.files);
  }

  @MessagePattern(own(SandboxCancel))
  async cancel(@Payload() payload: unknown) {
    const request = parseRequest(SandboxCancel, payload);
    return { cancelled: await this.parts.executor.cancel(threadOf(request), request.epoch, request.key) };
  }

  @MessagePattern(own(SandboxRelease))
  release(@Payload() payload: unknown) {
    const request = parseRequest(SandboxRelease, payload);
    return { released: this.parts.pool.release(threadOf(request), request.sandbox_id) };
  }

  /**
   * A read, by whoever owns the thread now. @throws {FencedError} for another epoch, {NotFoundError} for a sandbox held
   * elsewhere
   */
  private async admitted<Request extends HeldSandboxRequest>(request: Request): Promise<Request> {
    this.parts.pool.held(threadOf(request), request.sandbox_id);
    await this.parts.executor.requireEpoch(threadOf(request), request.epoch);
    return request;
  }
}

interface HeldSandboxRequest {
  readonly user_id: string;
  readonly thread_id: string;
  readonly sandbox_id: string;
  readonly epoch: number;
}
