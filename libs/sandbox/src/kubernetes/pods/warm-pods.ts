import { UnavailableError } from '@caribou/contracts';
import { type Clock, RepeatedTask } from '@caribou/core';
import type { SandboxSpec } from '../../drivers/driver.js';
import type { PodsApi } from '../api/pods-api.js';
import { idLabel, POD_ANNOTATION, POD_LABEL, threadMetadata } from './pod-names.js';
import type { PodRemover } from './pod-remover.js';
import type { RunningPod } from './pod-starter.js';
import { stateOf } from './pod-state.js';
import type { PodWatcher } from './pod-watcher.js';

export interface WarmPodsOptions {
  readonly count: number;
  readonly api: Pick<PodsApi, 'get' | 'patch'>;
  readonly watcher: Pick<PodWatcher, 'latest'>;
  readonly remover: Pick<PodRemover, 'remove'>;
  /** Starts a pod without a thread. */
  readonly start: (signal: AbortSignal) => Promise<RunningPod>;
  /** Tells an agent that its manager lives. @throws {UnavailableError} when it does not answer */
  readonly hold: (pod: RunningPod) => Promise<void>;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

const CHECK_MS = 20_000;
const RETRY_MS = 15_000;
/** Pods that start at the same time. */
const MAX_STARTING = 4;
/** Another writer, such as the node, may change a pod between a read and the patch. */
const MAX_PATCHES = 4;

/**
 * Pods that run before a thread needs them.
 *
 *  V1  A warm pod belongs to the manager that made it, which alone has its token. It becomes a thread's by a patch on the
 *      version that is known here, so that one that is deleted is not used, and one that was changed is read first.
 *  V2  It is used once: no pod serves two threads.
 *  V3  They were made of the settings of this process; those of an earlier one are leftovers of a manager that has ended.
 */
export class WarmPods {
  private readonly ready: RunningPod[] = [];
  private readonly checks: RepeatedTask;
  private readonly stopping = new AbortController();
  private filling: Promise<void> | undefined;

  constructor(private readonly options: WarmPodsOptions) {
    const { clock, onFailure } = options;
    this.checks = new RepeatedTask({
      ...{ clock, onFailure, everyMs: CHECK_MS, retryMs: RETRY_MS },
      work: () => this.check(),
    });
  }

  /** Pods that can be taken at once. */
  get size(): number {
    return this.ready.length;
  }

  start(): void {
    if (this.options.count > 0) this.checks.start();
  }

  /** Removes the pods and makes no more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.checks.stop();
    await this.filling?.catch(() => undefined);
    await Promise.all(this.ready.splice(0).map((pod) => this.options.remover.remove(pod)));
  }

  /** A warm pod that is the sandbox's from now on; undefined when no warm pod is ready. */
  async take(sandbox: SandboxSpec): Promise<RunningPod | undefined> {
    for (let pod = this.ready.shift(); pod !== undefined; pod = this.ready.shift()) {
      try {
        if (await this.adopt(pod, sandbox)) return { ...pod, isWarm: true };
      } catch (error) {
        await this.options.remover.remove(pod);
        throw error;
      }
      await this.options.remover.remove(pod);
    }
    return undefined;
  }

  /** (V1) */
  private async adopt({ name, uid }: RunningPod, sandbox: SandboxSpec): Promise<boolean> {
    const { labels, annotations } = threadMetadata(sandbox);
    const change = { labels: { ...labels, [POD_LABEL.warm]: null }, annotations };
    const { api, watcher } = this.options;
    let pod = watcher.latest(name) ?? (await api.get(name));
    for (let attempt = 0; attempt < MAX_PATCHES; attempt += 1) {
      if (pod?.metadata.uid !== uid || stateOf(pod).kind !== 'running') return false;
      if (pod.metadata.labels[POD_LABEL.warm] === undefined) return false;
      if ((await api.patch(pod, change)) !== null) return true;
      pod = await api.get(name);
    }
    return false;
  }

  /** Begins to make what is missing, after the sandbox that has taken one is ready: that needs the API server first. */
  refill(): void {
    this.filling ??= this.fill()
      .catch(this.options.onFailure)
      .finally(() => {
        this.filling = undefined;
      });
  }

  /** Removes pods that do not answer any more, and makes what is missing. */
  private async check(): Promise<void> {
    for (const pod of [...this.ready]) {
      const isAlive = await this.options.hold(pod).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof UnavailableError)) throw error;
          return false;
        },
      );
      const at = this.ready.indexOf(pod);
      if (isAlive || at < 0) continue;
      this.ready.splice(at, 1);
      await this.options.remover.remove(pod);
    }
    await this.filling;
    this.filling = this.fill().finally(() => {
      this.filling = undefined;
    });
    await this.filling;
  }

  private async fill(): Promise<void> {
    const { signal } = this.stopping;
    while (this.ready.length < this.options.count && !signal.aborted) {
      const missing = Math.min(this.options.count - this.ready.length, MAX_STARTING);
      const started = await Promise.allSettled(Array.from({ length: missing }, () => this.options.start(signal)));
      for (const one of started) if (one.status === 'fulfilled') this.ready.push(one.value);
      const failed = started.find((one) => one.status === 'rejected');
      if (failed !== undefined && !signal.aborted) throw failed.reason;
    }
  }
}

/** How a manager's warm pods are labelled and named. */
export const warmPurpose = (managerId: string) => ({
  prefix: 'caribou-warm',
  labels: { [POD_LABEL.warm]: 'true', [POD_LABEL.manager]: idLabel(managerId) },
  annotations: { [POD_ANNOTATION.manager]: managerId },
});
