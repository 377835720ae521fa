import { setTimeout } from 'node:timers/promises';
import { UnavailableError } from '@caribou/contracts';
import { KeyedMutex } from '@caribou/core';
import type Docker from 'dockerode';
import type { Container, ContainerCreateOptions, ContainerInspectInfo } from 'dockerode';
import { LABEL } from './container-options.js';
import { unlessStatus, withinTime } from './docker-engine.js';
import { ContainerTethers } from './docker-tether.js';
import type { SandboxSpec } from '../drivers/driver.js';
import { endingTimes, endsWithManager, type RuntimeSettings } from './gvisor.js';

/**
 * How long a name may be held by others, in milliseconds. Another creator of the same name holds it from before its
 * container can be inspected until that is made; a busy engine takes seconds over it.
 */
const NAME_WITHIN_MS = 20_000;
const NAME_POLL_MS = 100;

const isReady = (found: ContainerInspectInfo, managerId: string, config: string | undefined): boolean =>
  found.State.Running &&
  !found.State.Paused &&
  found.Config.Labels[LABEL.manager] === managerId &&
  found.Config.Labels[LABEL.config] === config;

/**
 * The containers that one driver has made, by sandbox id. A name may pass to a container of another manager; what this
 * driver does to its own must never reach that.
 */
export class DriverContainers {
  private readonly engineIds = new Map<string, string>();
  private readonly tethers: ContainerTethers | undefined;
  private readonly mutex = new KeyedMutex();

  constructor(
    private readonly engine: () => Docker,
    private readonly settings: RuntimeSettings,
  ) {
    this.tethers = endsWithManager(settings) ? new ContainerTethers(engine) : undefined;
  }

  /**
   * The result of `change`, begun when all earlier changes of the same sandbox have settled: one at a time decides
   * whether there is a container. A removal that comes during a replacement waits, and then removes the new one.
   */
  async runExclusively<T>({ sandboxId }: SandboxSpec, change: () => Promise<T>): Promise<T> {
    return this.mutex.run(sandboxId, change);
  }

  /** The container of a sandbox, by its name where this driver has made none. */
  container({ sandboxId }: SandboxSpec): Container {
    return this.engine().getContainer(this.engineIds.get(sandboxId) ?? sandboxId);
  }

  /**
   * Creates and starts a container. One of that name is removed first, unless it is ready and `fresh` is false.
   *
   * @throws {UnavailableError} when the engine does not answer, or the name is held by others for NAME_WITHIN_MS
   */
  async make(
    sandbox: SandboxSpec,
    options: ContainerCreateOptions,
    { fresh }: { readonly fresh: boolean },
  ): Promise<void> {
    let mayKeep = !fresh;
    const giveUpAt = performance.now() + NAME_WITHIN_MS;
    for (;;) {
      const found = await unlessStatus(this.engine().getContainer(sandbox.sandboxId).inspect(), [404]);
      if (found !== null) {
        if (mayKeep && isReady(found, sandbox.managerId, options.Labels?.[LABEL.config])) {
          await this.take(sandbox, found.Id);
          return;
        }
        await this.end(found.Id);
      }
      if (await this.add(sandbox, options)) return;
      // A concurrent create of this manager won the name: what it made is fresh enough.
      mayKeep = true;
      if (performance.now() > giveUpAt) break;
      await setTimeout(NAME_POLL_MS);
    }
    throw new UnavailableError(
      `another creator holds the container name ${sandbox.sandboxId} for ${NAME_WITHIN_MS} ms`,
      {
        details: { dependency: 'docker' },
      },
    );
  }

  /** Creates and starts a container; false when its name is taken. @throws {UnavailableError} */
  async add(sandbox: SandboxSpec, options: ContainerCreateOptions): Promise<boolean> {
    const made = await unlessStatus(this.engine().createContainer(options), [409]);
    if (made === null) return false;
    await this.take(sandbox, made.id);
    await unlessStatus(made.start(), []);
    return true;
  }

  /** Makes a container the one of this driver. */
  private async take(sandbox: SandboxSpec, engineId: string): Promise<void> {
    this.engineIds.set(sandbox.sandboxId, engineId);
    await this.tethers?.tie(engineId);
  }

  /** Whether a container is the one that this driver has for the sandbox now. */
  isOf({ sandboxId }: SandboxSpec, { id }: Container): boolean {
    return this.engineIds.get(sandboxId) === id;
  }

  /**
   * Removes the container of a sandbox, by its name where this driver has made none. Idempotent. @throws
   * {UnavailableError}
   */
  async remove({ sandboxId }: SandboxSpec): Promise<void> {
    await this.end(this.engineIds.get(sandboxId) ?? sandboxId);
    this.engineIds.delete(sandboxId);
  }

  /**
   * Ends and removes a container by its engine id or name; its name is free after that. False when it was gone, or on
   * its way, without this call.
   *
   * @throws {UnavailableError} when the engine cannot end it, or does not answer
   */
  async end(idOrName: string): Promise<boolean> {
    const container = this.engine().getContainer(idOrName);
    const { stopSeconds, outsideMs } = endingTimes(this.settings);
    // Where the sandbox does not end by itself, the removal kills it, or fails with the reason.
    if (stopSeconds > 0) await withinTime(container.stop({ t: stopSeconds }), outsideMs).catch(() => undefined);
    // 404: gone already; 409: being removed by someone else, as by the engine once a tied sandbox has ended.
    const removal = container.remove({ force: true, v: true }).then(() => true);
    const removed = (await unlessStatus(removal, [404, 409], outsideMs)) !== null;
    if (removed && this.tethers === undefined) return true;
    this.tethers?.untie(idOrName);
    await unlessStatus(container.wait({ condition: 'removed' }), [404], outsideMs);
    return removed;
  }
}
