import { BugError, UnavailableError } from '@caribou/contracts';
import { type CopyMirror, type CopyMirrors, systemClock } from '@caribou/core';
import type { SandboxSpec } from '../drivers/driver.js';
import type { SandboxSettings } from '../drivers/settings.js';
import type { Cluster } from './cluster.js';
import type { PodEgress } from './egress/pod-egress.js';
import { openPodSession, type PodSession } from './pod-session.js';
import { idLabel, POD_LABEL, podSelector, threadMetadata } from './pods/pod-names.js';
import type { PodReference } from './pods/pod-remover.js';
import type { RunningPod } from './pods/pod-starter.js';
import type { WarmPods } from './pods/warm-pods.js';

export interface SandboxSessionsOptions {
  readonly settings: SandboxSettings;
  readonly cluster: Cluster;
  readonly warm: WarmPods;
  readonly egress: PodEgress | undefined;
  /** Whether pods get a user namespace of their own. */
  readonly hasUserNamespace: () => boolean;
}

/** How long the end of a command may take before its pod is deleted. */
const KILL_MS = 5_000;

/** The pods that serve this manager's sandboxes. The caller sees to it that calls for one sandbox do not overlap. */
export class SandboxSessions {
  private readonly sessions = new Map<string, PodSession>();

  constructor(private readonly options: SandboxSessionsOptions) {}

  of({ sandboxId }: SandboxSpec): PodSession | undefined {
    return this.sessions.get(sandboxId);
  }

  /**
   * Gives the sandbox a pod, in place of the one that it has here. With `fresh`, those of other managers are ended first.
   *
   * @throws {UnavailableError} with what to change; nothing new is left then
   */
  async make(sandbox: SandboxSpec, { fresh }: { readonly fresh: boolean }): Promise<void> {
    await this.end(sandbox);
    const copy = this.mirrors.open(sandbox);
    copy.catch(() => undefined); // Its failure is thrown where it is used.
    try {
      await this.open(sandbox, await this.acquire(sandbox, { fresh }), copy);
    } catch (error) {
      await copy.then((mirror) => mirror.close()).catch(() => undefined);
      throw error;
    } finally {
      this.options.warm.refill();
    }
  }

  /** Ends what runs in the pod that the sandbox has here, and has it deleted. Whether there was one. */
  async end({ sandboxId }: SandboxSpec): Promise<boolean> {
    const session = this.sessions.get(sandboxId);
    if (session === undefined) return false;
    this.sessions.delete(sandboxId);
    const { cluster } = this.options;
    const hasEnded = await withinKillTime(session.client.kill());
    await session.close();
    // A command whose end was not seen may still run, until its node has ended the pod.
    if (hasEnded) await cluster.remover.remove(session.pod);
    else await cluster.remover.end(session.pod);
    return true;
  }

  /** Ends all pods of a sandbox, those of other managers too; resolves when nothing runs in them any more. @throws {ApiFailure} */
  async endPods(sandbox: SandboxSpec): Promise<void> {
    await this.endAll(await this.podsOf(sandbox));
  }

  private async podsOf({ sandboxId }: SandboxSpec): Promise<readonly PodReference[]> {
    const { cluster, settings } = this.options;
    const selector = podSelector(settings.kubernetes.installation, { [POD_LABEL.sandbox]: idLabel(sandboxId) });
    const { pods } = await cluster.api.list(selector);
    return pods.map(({ metadata: { name, uid } }) => ({ name, uid }));
  }

  private async endAll(pods: readonly PodReference[]): Promise<void> {
    await Promise.all(pods.map((pod) => this.options.cluster.remover.end(pod)));
  }

  async close(): Promise<void> {
    await Promise.all([...this.sessions.values()].map(({ sandbox }) => this.end(sandbox)));
  }

  /** A warm pod, or a new one; with `fresh`, nothing runs in an earlier one then. */
  private async acquire(sandbox: SandboxSpec, { fresh }: { readonly fresh: boolean }): Promise<RunningPod> {
    const [listed, taken] = await Promise.allSettled([
      fresh ? this.podsOf(sandbox) : [],
      this.options.warm.take(sandbox),
    ]);
    if (taken.status === 'rejected') throw taken.reason;
    const warm = taken.value;
    try {
      if (listed.status === 'rejected') throw listed.reason;
      // The warm pod has the labels of the sandbox already. A new one is made after the list, and cannot be in it.
      const ending = this.endAll(listed.value.filter(({ uid }) => uid !== warm?.uid));
      if (warm === undefined) return await this.startBeside(ending, sandbox);
      await ending;
      return warm;
    } catch (error) {
      if (warm !== undefined) await this.options.cluster.remover.remove(warm);
      throw error;
    }
  }

  /** A new pod, when earlier ones have ended too. */
  private async startBeside(ending: Promise<void>, sandbox: SandboxSpec): Promise<RunningPod> {
    const { cluster, hasUserNamespace } = this.options;
    const started = cluster.starter.start({
      ...threadMetadata(sandbox),
      prefix: sandbox.sandboxId,
      hasUserNamespace: hasUserNamespace(),
    });
    const [ended, pod] = await Promise.allSettled([ending, started]);
    if (pod.status === 'rejected') throw pod.reason;
    if (ended.status === 'fulfilled') return pod.value;
    await cluster.remover.remove(pod.value);
    throw ended.reason;
  }

  /** Opens the session of an acquired pod, which is deleted when that fails. */
  private async open(sandbox: SandboxSpec, pod: RunningPod, copy: Promise<CopyMirror>): Promise<void> {
    const { settings, egress, cluster } = this.options;
    try {
      const session = await openPodSession({
        ...{ sandbox, pod, settings, egress, mirror: await copy, skills: this.mirrors, clock: systemClock },
        // Either the pod's user namespace or its user is nobody else's.
        ownUsers: true,
        hasAnswered: pod.isWarm === true,
      });
      this.sessions.set(sandbox.sandboxId, session);
    } catch (error) {
      await cluster.remover.remove(pod);
      throw error;
    }
  }

  private get mirrors(): CopyMirrors {
    const { mirrors } = this.options.settings;
    if (mirrors === undefined) throw new BugError('the kubernetes driver needs mirrors of the copies of threads');
    return mirrors;
  }
}

/** Whether the call has succeeded within KILL_MS. */
async function withinKillTime(call: Promise<unknown>): Promise<boolean> {
  const late = new AbortController();
  const timeout = systemClock.sleep(KILL_MS, late.signal).then(
    () => false,
    () => false,
  );
  const done = call.then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error;
      return false;
    },
  );
  try {
    return await Promise.race([done, timeout]);
  } finally {
    late.abort();
  }
}
