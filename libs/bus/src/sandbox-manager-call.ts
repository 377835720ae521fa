import { AppError, DeadlineError, FencedError, managerSubject, NotFoundError } from '@caribou/contracts';
import { type RpcContract, SandboxAcquire, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, SandboxScope } from '@caribou/core';
import type { z } from 'zod';
import type { RpcClient } from './rpc-client.js';

/** A thread's sandbox and the manager process that holds it. */
export interface HeldSandbox {
  readonly sandboxId: string;
  readonly managerId: string;
  readonly driver: 'docker' | 'bwrap';
}

export interface ManagerCallOptions {
  readonly rpc: RpcClient;
  /** Whether the manager's lease in the registry lives. */
  readonly isManagerAlive: (managerId: string) => Promise<boolean>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** How often a wait looks at the manager's lease; milliseconds. */
  readonly lookMs: number;
  /**
   * So long one request for a sandbox is waited for, in milliseconds. Any manager may have taken it, so nobody can be
   * watched, and one that has died since never answers; asked again, whoever is there takes over or names the one at it.
   */
  readonly acquireMs: number;
}

/** One reply is waited for this long; then the same key is asked again, which attaches to what runs. */
const ATTACH_MS = 30_000;
const RETRY_MS = 250;
/** A call is given up when nobody could be reached for this long. */
const AWAY_MS = 20_000;
const MAX_BINDINGS = 10_000;

class ManagerGone extends Error {}

export interface ManagerRequest<Request extends z.ZodType, Reply extends z.ZodType> {
  readonly contract: RpcContract<Request, Reply>;
  readonly scope: SandboxScope;
  readonly payload: (sandboxId: string) => z.input<Request>;
  readonly signal: AbortSignal;
}

/**
 * Calls the manager of a thread's sandbox until there is an answer. Requests carry a key under which the manager and
 * the journal execute at most once, so a lost reply, a lost connection or a lost manager is met by asking again.
 */
export class ManagerCalls {
  private readonly held = new Map<string, HeldSandbox>();

  constructor(private readonly options: ManagerCallOptions) {}

  /** The sandbox this process knows for the scope. */
  known(scope: SandboxScope): HeldSandbox | undefined {
    return this.held.get(bindingKey(scope));
  }

  forget(scope: SandboxScope): void {
    this.held.delete(bindingKey(scope));
  }

  /**
   * @throws the manager's AppError, or the signal's reason
   * @throws {UnavailableError} when nobody can be reached for 20 s
   * @throws {DeadlineError} after the contract's time
   */
  async ask<Request extends z.ZodType, Reply extends z.ZodType>(
    request: ManagerRequest<Request, Reply>,
  ): Promise<z.output<Reply>> {
    const { clock } = this.options;
    const deadline = clock.monotonicMs() + request.contract.timeoutMs;
    let awaySince: number | undefined;
    for (;;) {
      request.signal.throwIfAborted();
      const began = clock.monotonicMs();
      const cached = this.known(request.scope);
      try {
        const sandbox = cached ?? (await this.acquire(request.scope, request.signal));
        return await this.askOnce(request, sandbox, Math.min(ATTACH_MS, deadline - began));
      } catch (cause) {
        request.signal.throwIfAborted();
        const now = clock.monotonicMs();
        const tookMs = now - began;
        const next = now >= deadline ? 'give-up' : nextStep(cause, { tookMs, wasCached: cached !== undefined });
        if (next === 'give-up') throw cause;
        if (next === 'rebind') this.forget(request.scope);
        if (next === 'wait') {
          awaySince = awaySince === undefined || tookMs > 2 * RETRY_MS ? now : awaySince;
          if (now - awaySince > AWAY_MS) throw cause;
          await this.afterLoss(request.scope, cause);
          await clock.sleep(RETRY_MS, request.signal);
        }
      }
    }
  }

  /** A binding is kept while its manager lives: another would only point back to it. */
  private async afterLoss(scope: SandboxScope, cause: unknown): Promise<void> {
    const sandbox = this.known(scope);
    if (sandbox === undefined) return;
    if (cause instanceof ManagerGone || !(await this.lives(sandbox.managerId))) this.forget(scope);
  }

  private async acquire(scope: SandboxScope, signal: AbortSignal): Promise<HeldSandbox> {
    const reply = await this.acquired(scope, signal);
    const sandbox = { sandboxId: reply.sandbox_id, managerId: reply.manager_id, driver: reply.driver };
    this.held.set(bindingKey(scope), sandbox);
    const oldest = this.held.keys().next();
    if (this.held.size > MAX_BINDINGS && oldest.done !== true) this.held.delete(oldest.value);
    return sandbox;
  }

  /** @throws {DeadlineError} after the contract's time */
  private async acquired(scope: SandboxScope, signal: AbortSignal): Promise<z.output<typeof SandboxAcquire.reply>> {
    const { rpc, clock, acquireMs } = this.options;
    const deadline = clock.monotonicMs() + SandboxAcquire.timeoutMs;
    for (;;) {
      const timeoutMs = Math.max(1, Math.min(acquireMs, deadline - clock.monotonicMs()));
      try {
        return await rpc.call({ contract: SandboxAcquire }, scopeFields(scope), { signal, timeoutMs });
      } catch (cause) {
        if (!(cause instanceof DeadlineError) || clock.monotonicMs() >= deadline) throw cause;
      }
    }
  }

  private async askOnce<Request extends z.ZodType, Reply extends z.ZodType>(
    { contract, payload, signal }: ManagerRequest<Request, Reply>,
    sandbox: HeldSandbox,
    timeoutMs: number,
  ): Promise<z.output<Reply>> {
    const answered = new AbortController();
    const gone = new AbortController();
    this.watch(sandbox.managerId, answered.signal).then(
      (isGone) => {
        if (isGone) gone.abort(new ManagerGone(`sandbox-manager ${sandbox.managerId} is gone`));
      },
      (cause: unknown) => gone.abort(cause),
    );
    try {
      const subject = managerSubject(sandbox.managerId, contract);
      return await this.options.rpc.call({ contract, subject }, payload(sandbox.sandboxId), {
        signal: AbortSignal.any([signal, gone.signal]),
        timeoutMs: Math.max(timeoutMs, 1),
      });
    } finally {
      answered.abort();
    }
  }

  /** Looks at the manager's lease until `stop`; true as soon as it is gone. */
  private async watch(managerId: string, stop: AbortSignal): Promise<boolean> {
    while (!stop.aborted) {
      try {
        await this.options.clock.sleep(this.options.lookMs, stop);
      } catch (cause) {
        if (stop.aborted) return false;
        throw cause;
      }
      if (!(await this.lives(managerId))) return true;
    }
    return false;
  }

  /** While the registry does not answer, the manager counts as alive. */
  private async lives(managerId: string): Promise<boolean> {
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

/** What to do about a failed attempt that took `tookMs`. */
function nextStep(
  cause: unknown,
  attempt: { readonly tookMs: number; readonly wasCached: boolean },
): 'wait' | 'rebind' | 'ask-again' | 'give-up' {
  if (isAway(cause)) return 'wait';
  if (isStale(cause) && attempt.wasCached) return 'rebind';
  // Named by another manager before it has made room for the thread.
  if (cause instanceof NotFoundError && cause.details['resource'] === 'sandbox') return 'wait';
  return cause instanceof DeadlineError && attempt.tookMs >= ATTACH_MS ? 'ask-again' : 'give-up';
}

/** What may come back: the bus, the store, and a manager in place of one that is stopping. */
const RETURNING: readonly unknown[] = ['nats', 'redis', 'sandbox-manager'];

/** Nobody answered, the answerer could not reach the store, or takes nothing more: the same key may be asked again. */
const isAway = (cause: unknown): boolean =>
  cause instanceof ManagerGone ||
  (cause instanceof UnavailableError && RETURNING.includes(cause.details['dependency']));

/** The manager does not hold the sandbox any more, or the caller's epoch is over: a fresh acquire tells which. */
const isStale = (cause: unknown): boolean => cause instanceof FencedError || cause instanceof NotFoundError;
