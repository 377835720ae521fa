import { BugError, UnavailableError } from '@caribou/contracts';
import { commandIdentity, systemClock } from '@caribou/core';
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
    const { settings } = this.options;
    await settings.mounts.prepareData(sandbox, process.getuid?.() === 0 ? commandIdentity() : undefined);
    await this.end(sandbox);
    // Listed before the new one exists: that must not be among them.
    const earlier = fresh ? await this.podsOf(sandbox) : [];
    const [ended, acquired] = await Promise.allSettled([this.endAll(earlier), this.acquire(sandbox)]);
    if (acquired.status === 'rejected') throw acquired.reason;
    const pod = acquired.value;
    try {
      if (ended.status === 'rejected') throw ended.reason;
      this.sessions.set(sandbox.sandboxId, await this.open(sandbox, pod));
    } catch (error) {
      await this.options.cluster.remover.remove(pod);
      throw error;
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

  /** A warm pod, or a new one. */
  private async acquire(sandbox: SandboxSpec): Promise<RunningPod> {
    const { warm, cluster } = this.options;
    const ready = await warm.take(sandbox);
    if (ready !== undefined) return ready;
    return cluster.starter.start({
      ...threadMetadata(sandbox),
      prefix: sandbox.sandboxId,
      hasUserNamespace: this.options.hasUserNamespace(),
    });
  }

  private open(sandbox: SandboxSpec, pod: RunningPod): Promise<PodSession> {
    const { settings, egress } = this.options;
    const { mirrors } = settings;
    if (mirrors === undefined) throw new BugError('the kubernetes driver needs mirrors of the copies of threads');
    return openPodSession({
      ...{ sandbox, pod, settings, mirrors, egress, clock: systemClock },
      // Either the pod's user namespace or its user is nobody else's.
      ownUsers: true,
    });
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
