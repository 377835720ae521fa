import { UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, ThreadKey } from '@caribou/core';
import type { ManagedSandbox } from './managed-sandbox.js';
import type { ManagedDriver } from './replacement-notice.js';

export interface SandboxLifecycleOptions {
  /** Called before a sandbox is created; when it rejects, none is. */
  readonly beforeCreate?: (driver: ManagedDriver) => Promise<void>;
  /** Called after a sandbox was removed, when nothing runs in it any more. */
  readonly afterRemoval?: (thread: ThreadKey) => Promise<unknown>;
  /** Receives the time that each creation of a sandbox took. */
  readonly onReady?: (durationMs: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates and removes single sandboxes through their drivers, by the rules P2, P4 and P6 of the sandbox pool. */
export class SandboxLifecycle {
  /** Unfinished removals by sandbox id: a sandbox is created again only after its removal has finished. */
  private readonly removals = new Map<string, Promise<boolean>>();

  constructor(private readonly options: SandboxLifecycleOptions) {}

  /**
   * Resolves when the sandbox can execute commands. Concurrent callers share one attempt to create it; after a failed
   * attempt, the next caller starts another one.
   */
  async ensureReady(sandbox: ManagedSandbox): Promise<void> {
    sandbox.readiness ??= this.create(sandbox);
    const attempt = sandbox.readiness;
    try {
      await attempt;
    } catch (error) {
      if (sandbox.readiness === attempt) {
        delete sandbox.readiness;
        const { sandboxId } = sandbox.spec;
        this.options.logger.warn({ event: 'sandbox.ready', outcome: 'error', sandboxId, error }, 'sandbox not ready');
      }
      throw error;
    }
  }

  /**
   * (P6) Creates the sandbox, or creates it again when it has disappeared. While others use the sandbox it is not
   * probed: they notice a disappearance themselves.
   */
  async ensureAlive(sandbox: ManagedSandbox): Promise<void> {
    const before = sandbox.readiness;
    await this.ensureReady(sandbox);
    if (before === undefined || sandbox.users > 1 || (await sandbox.driver.isAlive(sandbox.spec))) return;
    await this.replace(sandbox, before);
  }

  /**
   * (P6) Creates a sandbox again that has disappeared. `before` is its `readiness` from before the disappearance was
   * noticed: when several callers notice it, only the first one starts an attempt.
   *
   * @throws {UnavailableError} when the sandbox cannot be created
   */
  async replace(sandbox: ManagedSandbox, before: ManagedSandbox['readiness']): Promise<void> {
    const { sandboxId, userId, threadId } = sandbox.spec;
    if (sandbox.readiness === before) {
      delete sandbox.readiness;
      sandbox.replaced = true;
      this.options.logger.warn(
        { event: 'sandbox.replace', sandboxId, userId, threadId },
        'a sandbox has disappeared and is created again',
      );
    }
    await this.ensureReady(sandbox);
  }

  private async create(sandbox: ManagedSandbox): Promise<void> {
    await this.removals.get(sandbox.spec.sandboxId);
    const beganMs = this.options.clock.monotonicMs();
    await this.options.beforeCreate?.(sandbox.driver);
    await sandbox.driver.create(sandbox.spec, { fresh: !sandbox.created });
    sandbox.created = true;
    sandbox.sinceMs = this.options.clock.now();
    const { sandboxId, userId, threadId } = sandbox.spec;
    const durationMs = this.options.clock.monotonicMs() - beganMs;
    this.options.onReady?.(durationMs);
    this.options.logger.info(
      { event: 'sandbox.ready', outcome: 'ok', driver: sandbox.driver.kind, sandboxId, userId, threadId, durationMs },
      'sandbox ready',
    );
  }

  /**
   * (P9) Ends a sandbox that may be in use, and leaves it to be created again before its next use.
   *
   * @param stopCommands ends what has begun in it, within a bounded time
   * @throws {UnavailableError} when the driver has failed to remove it: its next use ends what is left
   */
  async end(sandbox: ManagedSandbox, stopCommands: () => Promise<unknown>): Promise<void> {
    const { sandboxId, userId, threadId } = sandbox.spec;
    await stopCommands();
    await sandbox.readiness?.catch(() => undefined);
    const isRemoved = await this.remove(sandbox);
    delete sandbox.readiness;
    sandbox.replaced = true;
    this.options.logger.info(
      { event: 'sandbox.end', outcome: isRemoved ? 'ok' : 'error', sandboxId, userId, threadId },
      'an administrator ended a sandbox',
    );
    if (isRemoved) return;
    // (P2) What the driver could not end is ended before the next use.
    sandbox.created = false;
    throw new UnavailableError('the sandbox could not be removed; its next use ends what is left of it', {
      details: { dependency: 'sandbox' },
    });
  }

  /** (P4) Removes the sandbox with its processes; its files are not touched. Never rejects: false when it failed. */
  remove(sandbox: ManagedSandbox): Promise<boolean> {
    const { sandboxId } = sandbox.spec;
    const removal = this.tryRemove(sandbox).finally(() => this.removals.delete(sandboxId));
    this.removals.set(sandboxId, removal);
    return removal;
  }

  private async tryRemove(sandbox: ManagedSandbox): Promise<boolean> {
    const { sandboxId } = sandbox.spec;
    try {
      await sandbox.driver.remove(sandbox.spec);
      await this.options.afterRemoval?.(sandbox.spec);
      return true;
    } catch (error) {
      // The reaper removes what is left of it, or the thread's next use does (P2), which stores its files too.
      this.options.logger.warn(
        { event: 'sandbox.remove', outcome: 'error', sandboxId, error },
        'a sandbox was not removed',
      );
      return false;
    }
  }

  isRemoving(sandboxId: string): boolean {
    return this.removals.has(sandboxId);
  }

  /** Resolves when all removals that have begun are finished. */
  async waitForRemovals(): Promise<void> {
    await Promise.all([...this.removals.values()]);
  }
}
