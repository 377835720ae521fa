import {
  AppError,
  DeadlineError,
  FencedError,
  machineSubject,
  managerSubject,
  omitUndefined,
  NotFoundError,
  type RpcContract,
  SandboxAcquire,
  type SandboxDriverKind,
} from '@caribou/contracts';
import type { CalledExecution, Clock, Logger, SandboxScope } from '@caribou/core';
import type { z } from 'zod';
import { type ExecutionOutcomes, isAway, ManagerGone } from './execution-outcomes.js';
import type { RpcClient } from '../connection/procedures.js';
import type { LongTexts } from '../connection/long-texts.js';

/** A thread's sandbox and the manager process that holds it. */
export interface HeldSandbox {
  readonly sandboxId: string;
  readonly managerId: string;
  readonly driver: SandboxDriverKind;
  /** Whether the manager takes attached texts. */
  readonly attachments: boolean;
}

export interface ManagerCallOptions {
  readonly bus: RpcClient;
  /** Whether the manager's lease in the registry is valid. */
  readonly isManagerAlive: (managerId: string) => Promise<boolean>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Milliseconds between two checks of the manager's lease during a wait. */
  readonly lookMs: number;
  /**
   * Timeout of one request for a sandbox, in milliseconds. Any manager may have received it, so no lease can be
   * watched, and a manager that died never replies. A repeated request is answered by another manager, which takes the
   * sandbox over or names the manager that holds it.
   */
  readonly acquireMs: number;
  /** Milliseconds after which a call is concluded for which nobody could be reached. */
  readonly awayMs: number;
  readonly outcomes: ExecutionOutcomes;
}

/**
 * Timeout of one reply, in milliseconds; then the request is repeated with the same key, which attaches to the running
 * execution.
 */
const ATTACH_MS = 30_000;
/** How long a manager of the machine that has a thread's files may take, before any other one is asked. */
const MACHINE_MS = 2_000;
const RETRY_MS = 250;
const MAX_BINDINGS = 10_000;

type AcquireReply = z.output<typeof SandboxAcquire.reply>;
type Elsewhere = Extract<AcquireReply, { readonly machine: string }>;
type Acquired = Exclude<AcquireReply, Elsewhere>;

export interface ManagerRequest<Reply extends z.ZodType> {
  readonly contract: RpcContract<z.ZodType, Reply>;
  readonly scope: SandboxScope;
  /** The request's fields other than scope and sandbox, which are added here. */
  readonly request: object;
  readonly signal: AbortSignal;
  /** The execution that it requests; absent for a request that changes nothing. */
  readonly execution?: CalledExecution;
  /** What has encoded long texts of the request before. */
  readonly texts?: LongTexts;
}

/**
 * Calls the manager of a thread's sandbox until there is an answer. Requests have a key under which the manager and the
 * journal execute at most once, so they are repeated after a lost reply, connection or manager.
 */
export class ManagerCalls {
  private readonly held = new Map<string, HeldSandbox>();

  constructor(private readonly options: ManagerCallOptions) {}

  /** Returns the sandbox that this process knows for the scope. */
  findHeldSandbox(scope: SandboxScope): HeldSandbox | undefined {
    return this.held.get(bindingKey(scope));
  }

  forget(scope: SandboxScope): void {
    this.held.delete(bindingKey(scope));
  }

  /**
   * @throws the manager's AppError, or the signal's reason
   * @throws {UnavailableError}, {DeadlineError} when nobody answered and nothing was executed
   * @throws {RunDraining} when this process could not reach NATS for `awayMs`
   */
  async ask<Reply extends z.ZodType>(request: ManagerRequest<Reply>): Promise<z.output<Reply>> {
    const { clock, outcomes, awayMs } = this.options;
    const deadline = clock.monotonicMs() + request.contract.timeoutMs;
    const away = new AwayTime();
    for (;;) {
      request.signal.throwIfAborted();
      const began = clock.monotonicMs();
      const cached = this.findHeldSandbox(request.scope);
      try {
        const sandbox = cached ?? (await this.acquire(request.scope, request.signal));
        return await this.askOnce(request, sandbox, Math.min(ATTACH_MS, deadline - began));
      } catch (cause) {
        request.signal.throwIfAborted();
        const now = clock.monotonicMs();
        const attempt = { now, tookMs: now - began, isLate: now >= deadline, wasCached: cached !== undefined };
        const next = nextStep(cause, attempt);
        if (next === 'rebind') this.forget(request.scope);
        if (next === 'rebind' || next === 'ask-again') continue;
        const isOver = next === 'give-up' || away.lastsMs(attempt) > awayMs;
        if (!isOver) await this.invalidateBinding(request.scope, cause);
        const known = await (isOver
          ? outcomes.conclude(request, cause, attempt.isLate)
          : outcomes.findRecordedReply(request));
        if (known !== undefined) return known.reply;
        await clock.sleep(RETRY_MS, request.signal);
      }
    }
  }

  /**
   * Forgets the binding if its manager is gone. While the manager is alive, other managers would only name it again.
   */
  private async invalidateBinding(scope: SandboxScope, cause: unknown): Promise<void> {
    const sandbox = this.findHeldSandbox(scope);
    const isGone =
      cause instanceof ManagerGone || (sandbox !== undefined && !(await this.isManagerAlive(sandbox.managerId)));
    if (isGone) this.forget(scope);
  }

  private async acquire(scope: SandboxScope, signal: AbortSignal): Promise<HeldSandbox> {
    const reply = await this.acquireWithRetries(scope, signal);
    const { sandbox_id: sandboxId, manager_id: managerId, driver, attachments = false } = reply;
    const sandbox = { sandboxId, managerId, driver, attachments };
    this.held.set(bindingKey(scope), sandbox);
    const oldest = this.held.keys().next();
    if (this.held.size > MAX_BINDINGS && oldest.done !== true) this.held.delete(oldest.value);
    return sandbox;
  }

  /** @throws {DeadlineError} after the contract's timeout */
  private async acquireWithRetries(scope: SandboxScope, signal: AbortSignal): Promise<Acquired> {
    const { bus, clock, acquireMs } = this.options;
    const deadline = clock.monotonicMs() + SandboxAcquire.timeoutMs;
    for (let elsewhere = true; ; ) {
      const timeoutMs = Math.max(1, Math.min(acquireMs, deadline - clock.monotonicMs()));
      try {
        const payload = elsewhere ? { ...scopeFields(scope), elsewhere } : scopeFields(scope);
        const reply = await bus.call({ contract: SandboxAcquire }, payload, { signal, timeoutMs });
        const acquired = 'machine' in reply ? await this.acquireAtMachine(reply, scope, signal) : reply;
        if (acquired !== undefined) return acquired;
        elsewhere = false;
      } catch (cause) {
        if (!(cause instanceof DeadlineError) || clock.monotonicMs() >= deadline) throw cause;
      }
    }
  }

  /** From a manager of the machine that has the thread's files; undefined when none of them answers for the time that it is waited for. */
  private async acquireAtMachine(
    { machine, wait_ms: waitMs = 0 }: Elsewhere,
    scope: SandboxScope,
    signal: AbortSignal,
  ): Promise<Acquired | undefined> {
    const { clock } = this.options;
    const untilMs = clock.monotonicMs() + waitMs;
    for (;;) {
      const acquired = await this.acquireAt(machine, scope, signal);
      if (acquired !== undefined || clock.monotonicMs() >= untilMs) return acquired;
      await clock.sleep(RETRY_MS, signal);
    }
  }

  /** Asks them once; undefined when none answers. */
  private async acquireAt(machine: string, scope: SandboxScope, signal: AbortSignal): Promise<Acquired | undefined> {
    const target = { contract: SandboxAcquire, subject: machineSubject(machine) };
    try {
      const reply = await this.options.bus.call(target, scopeFields(scope), { signal, timeoutMs: MACHINE_MS });
      return 'machine' in reply ? undefined : reply;
    } catch (cause) {
      if (cause instanceof DeadlineError || isAway(cause)) return undefined;
      throw cause;
    }
  }

  private async askOnce<Reply extends z.ZodType>(
    { contract, scope, request, signal, texts }: ManagerRequest<Reply>,
    sandbox: HeldSandbox,
    timeoutMs: number,
  ): Promise<z.output<Reply>> {
    const answered = new AbortController();
    const gone = new AbortController();
    this.watch(sandbox.managerId, answered.signal).then(
      (isGone) => {
        if (isGone)
          gone.abort(new ManagerGone('the sandbox-manager is gone', { details: { dependency: 'sandbox-manager' } }));
      },
      (cause: unknown) => gone.abort(cause),
    );
    try {
      const subject = managerSubject(sandbox.managerId, contract);
      const payload = { ...scopeFields(scope), sandbox_id: sandbox.sandboxId, ...request };
      return await this.options.bus.call({ contract, subject }, payload, {
        signal: AbortSignal.any([signal, gone.signal]),
        timeoutMs: Math.max(timeoutMs, 1),
        attaches: sandbox.attachments,
        ...omitUndefined({ texts }),
      });
    } catch (cause) {
      if (!isOfAnotherManager(cause)) throw cause;
      const details = { dependency: 'sandbox-manager' };
      throw new ManagerGone('the sandbox has passed to another sandbox-manager', { cause, details });
    } finally {
      answered.abort();
    }
  }

  /** Checks the manager's lease until `stop`; returns true as soon as it has expired. */
  private async watch(managerId: string, stop: AbortSignal): Promise<boolean> {
    while (!stop.aborted) {
      try {
        await this.options.clock.sleep(this.options.lookMs, stop);
      } catch (cause) {
        if (stop.aborted) return false;
        throw cause;
      }
      if (!(await this.isManagerAlive(managerId))) return true;
    }
    return false;
  }

  /** While the registry does not answer, the manager counts as alive. */
  private async isManagerAlive(managerId: string): Promise<boolean> {
    try {
      return await this.options.isManagerAlive(managerId);
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause;
      this.options.logger.debug({ error: cause, managerId }, 'the registry did not answer about a sandbox-manager');
      return true;
    }
  }
}

export const scopeFields = ({ userId, threadId, epoch }: SandboxScope) => ({
  user_id: userId,
  thread_id: threadId,
  epoch,
});

const bindingKey = ({ userId, threadId, epoch }: SandboxScope): string => `${userId}/${threadId}/${epoch}`;

interface Attempt {
  /** When it failed, on the monotonic clock. */
  readonly now: number;
  readonly tookMs: number;
  /** Whether the call's timeout has passed. */
  readonly isLate: boolean;
  /** Whether the request went to a binding that was known before. */
  readonly wasCached: boolean;
}

/** Milliseconds for which nobody has been reachable for a call. */
class AwayTime {
  private since: number | undefined;

  /** Counts from the first of the consecutive attempts that failed at once, including this one. */
  lastsMs({ now, tookMs }: Attempt): number {
    if (this.since === undefined || tookMs > 2 * RETRY_MS) this.since = now;
    return now - this.since;
  }
}

/** Decides how to continue after a failed attempt. */
function nextStep(cause: unknown, attempt: Attempt): 'wait' | 'rebind' | 'ask-again' | 'give-up' {
  if (attempt.isLate) return 'give-up';
  if (isAway(cause)) return 'wait';
  if (isStale(cause) && (attempt.wasCached || isGivenBack(cause))) return 'rebind';
  // Another manager named this one before it had created the sandbox of the thread.
  if (cause instanceof NotFoundError && cause.details['resource'] === 'sandbox') return 'wait';
  return cause instanceof DeadlineError && attempt.tookMs >= ATTACH_MS ? 'ask-again' : 'give-up';
}

/** Reasons with which a journal refuses a manager whose sandbox another one has taken over. */
const OF_ANOTHER_MANAGER: readonly unknown[] = ['another_binding', 'started_by_another', 'ended_as_unknown'];

/** Whether the thread no longer belongs to this manager. The caller's lease and epoch may still be valid. */
const isOfAnotherManager = (cause: unknown): boolean =>
  cause instanceof FencedError && OF_ANOTHER_MANAGER.includes(cause.details['reason']);

/** Whether a manager that stops has given the thread back, so that another acquire names the next one. */
const isGivenBack = (cause: unknown): boolean => cause instanceof NotFoundError && cause.details['given_back'] === true;

/** Whether the manager no longer holds the sandbox, or the caller's epoch is over; another acquire shows which. */
const isStale = (cause: unknown): boolean => cause instanceof FencedError || cause instanceof NotFoundError;
