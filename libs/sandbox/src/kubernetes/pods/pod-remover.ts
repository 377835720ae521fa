import { type Clock, RepeatedTask } from '@caribou/core';
import { ApiFailure } from '../api/api-failure.js';
import type { PodsApi } from '../api/pods-api.js';
import type { PodWatcher } from './pod-watcher.js';

export interface PodReference {
  readonly name: string;
  readonly uid: string;
}

export interface PodRemoverOptions {
  readonly api: Pick<PodsApi, 'remove'>;
  readonly watcher: Pick<PodWatcher, 'until'>;
  readonly clock: Clock;
  /** After this time without its manager an agent has ended what runs, whether or not its node can be reached. */
  readonly leaseMs: number;
  readonly onFailure: (error: unknown) => void;
}

const RETRY_MS = 5_000;
/** Pods that wait for their deletion; more are left to the sweeps of the manager. */
const MAX_PENDING = 10_000;

/** Deletes pods, each by its uid, so that never another one of its name is deleted. */
export class PodRemover {
  private readonly pending = new Map<string, PodReference>();
  private readonly retries: RepeatedTask;

  constructor(private readonly options: PodRemoverOptions) {
    const { clock, onFailure } = options;
    this.retries = new RepeatedTask({ clock, everyMs: RETRY_MS, work: () => this.retry(), onFailure });
  }

  start(): void {
    this.retries.start();
  }

  /** Ends the repetitions; what could not be deleted is left to other managers. */
  stop(): Promise<void> {
    return this.retries.stop();
  }

  /**
   * Has a pod deleted whose commands have ended. Never rejects: what fails is repeated in the background, and in the end
   * the agent ends for want of a manager.
   */
  async remove(pod: PodReference): Promise<void> {
    try {
      await this.options.api.remove(pod.name, { uid: pod.uid });
      this.pending.delete(pod.uid);
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      if (this.pending.size < MAX_PENDING) this.pending.set(pod.uid, pod);
      this.options.onFailure(error);
    }
  }

  /**
   * Deletes a pod and resolves when nothing of it runs any more: when its node has ended it, or, where the node does not
   * answer, after the agent's lease, which nobody extends.
   *
   * @throws {ApiFailure} when that cannot be known
   */
  async end({ name, uid }: PodReference): Promise<void> {
    const { api, watcher, leaseMs } = this.options;
    if (!(await api.remove(name, { uid }))) return;
    const isGone = await watcher.until(name, (pod) => (pod?.metadata.uid === uid ? undefined : true), {
      timeoutMs: leaseMs,
    });
    if (isGone === undefined) await api.remove(name, { uid, graceSeconds: 0 });
  }

  private async retry(): Promise<void> {
    for (const [uid, pod] of this.pending) {
      await this.options.api.remove(pod.name, { uid });
      this.pending.delete(uid);
    }
  }
}
