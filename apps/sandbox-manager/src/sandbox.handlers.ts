import {
  managerSubject,
  type RpcContract,
  SandboxAcquire,
  SandboxCancel,
  SandboxExec,
  SandboxProbe,
  SandboxRead,
  SandboxRelease,
  SandboxWrite,
} from '@caribou/contracts';
import { parseRequest } from '@caribou/nest';
import type { SandboxDrivers, ThreadFiles } from '@caribou/sandbox';
import { Controller, Inject } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import type { Executor } from './executor.js';
import { execution, fileRead, fileWrite, threadOf } from './sandbox-commands.js';
import type { SandboxPool } from './sandbox-pool.js';

/** What the handlers hand their requests to. */
export interface SandboxParts {
  readonly pool: SandboxPool;
  readonly executor: Executor;
  readonly files: ThreadFiles;
  readonly drivers: Pick<SandboxDrivers, 'forNewThread'>;
}

export const SANDBOX_PARTS = Symbol('SandboxParts');

/** Stands in the patterns for the id that a manager has only once it runs. */
const own = (contract: RpcContract): string => managerSubject('{manager_id}', contract);

/**
 * The RPC surface of a manager: `sandbox.acquire` is shared by all, the rest is on its own subjects. A reply that nobody
 * waits for any more changes nothing.
 */
@Controller()
export class SandboxHandlers {
  constructor(@Inject(SANDBOX_PARTS) private readonly parts: SandboxParts) {}

  @MessagePattern(SandboxAcquire.name)
  async acquire(@Payload() payload: unknown) {
    const request = parseRequest(SandboxAcquire, payload);
    this.parts.executor.requireTakingWork();
    const record = await this.parts.pool.acquire(threadOf(request), request.epoch);
    return { sandbox_id: record.sandboxId, manager_id: record.managerId, driver: record.driver };
  }

  @MessagePattern(SandboxProbe.name)
  async probe() {
    this.parts.executor.requireTakingWork();
    return { driver: (await this.parts.drivers.forNewThread()).kind };
  }

  @MessagePattern(own(SandboxExec))
  exec(@Payload() payload: unknown) {
    return this.parts.executor.execute(execution(parseRequest(SandboxExec, payload)));
  }

  @MessagePattern(own(SandboxWrite))
  write(@Payload() payload: unknown) {
    return this.parts.executor.execute(fileWrite(parseRequest(SandboxWrite, payload), this.parts.files));
  }

  @MessagePattern(own(SandboxRead))
  async read(@Payload() payload: unknown) {
    const request = parseRequest(SandboxRead, payload);
    this.parts.pool.held(threadOf(request), request.sandbox_id);
    await this.parts.executor.requireEpoch(threadOf(request), request.epoch);
    return fileRead(request, this.parts.files);
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
}
