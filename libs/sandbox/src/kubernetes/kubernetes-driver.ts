import { AppError, InvalidRequestError, TooLargeError, UnavailableError } from '@caribou/contracts';
import { KeyedMutex, systemClock } from '@caribou/core';
import { beforeStart, skillsMount } from '../drivers/available-mounts.js';
import {
  type CommandResult,
  MAX_COMMAND_BYTES,
  type Probe,
  type SandboxCommand,
  type SandboxDriver,
  SandboxGoneError,
  type SandboxInfo,
  type SandboxSpec,
} from '../drivers/driver.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { type Cluster, type ClusterFailure, openCluster } from './cluster.js';
import { PodEgress } from './egress/pod-egress.js';
import { explainLoss } from './explain-loss.js';
import { probeCluster } from './kubernetes-probe.js';
import { podOfInstance, toSandboxInfo } from './list-sandboxes.js';
import { holdWarmPod, LEASE_MS } from './pod-session.js';
import { podSelector } from './pods/pod-names.js';
import { warmPurpose, WarmPods } from './pods/warm-pods.js';
import { SandboxSessions } from './sandbox-sessions.js';

interface Opened {
  readonly cluster: Cluster;
  readonly warm: WarmPods;
  readonly sessions: SandboxSessions;
}

const gone = (text: string): SandboxGoneError => new SandboxGoneError(text, { details: { dependency: 'kubernetes' } });

/**
 * Sandboxes as pods of a Kubernetes cluster, on any node: one per thread, which lives while the thread is active. A pod
 * has files of its own: those of the thread are sent to it before a command and fetched after it.
 */
export class KubernetesDriver implements SandboxDriver {
  readonly kind = 'kubernetes';
  private readonly mutex = new KeyedMutex();
  private readonly egress: PodEgress | undefined;
  private opening: Promise<Opened> | undefined;
  private warm: WarmPods | undefined;
  private hasUserNamespace: boolean;

  /** `onFailure` gets the failures that no caller sees, such as those of deletions that are repeated. */
  constructor(
    private readonly settings: SandboxSettings,
    private readonly onFailure: ClusterFailure = settings.onBackgroundFailure ?? (() => undefined),
  ) {
    const { network, kubernetes } = settings;
    const { proxyHost = '', proxyPort, userNamespaces } = kubernetes;
    this.hasUserNamespace = userNamespaces === true;
    this.egress = network === undefined ? undefined : new PodEgress({ network, host: proxyHost, port: proxyPort });
  }

  warmSandboxes(): number {
    return this.warm?.size ?? 0;
  }

  async probe(): Promise<Probe> {
    try {
      const { cluster, warm } = await this.open();
      const probed = await probeCluster({ settings: this.settings, cluster, egress: this.egress });
      this.hasUserNamespace = probed.hasUserNamespace;
      if (probed.probe.ok) warm.start();
      return probed.probe;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { ok: false, reason: error.message };
    }
  }

  create(sandbox: SandboxSpec, { fresh }: { readonly fresh: boolean }): Promise<void> {
    return this.mutex.run(sandbox.sandboxId, async () => {
      const { sessions } = await this.open();
      const isSame = sessions.of(sandbox)?.sandbox.managerId === sandbox.managerId;
      if (!fresh && isSame && (await this.isAlive(sandbox))) return;
      await sessions.make(sandbox, { fresh });
    });
  }

  async exec(sandbox: SandboxSpec, command: SandboxCommand, signal: AbortSignal): Promise<CommandResult> {
    if (Buffer.byteLength(command.command) > MAX_COMMAND_BYTES)
      throw new InvalidRequestError(`a command may have at most ${MAX_COMMAND_BYTES} bytes`);
    const { sessions, cluster } = await beforeStart(this.open());
    const session = sessions.of(sandbox);
    if (session === undefined) throw gone('the sandbox has no pod');
    const skills = await beforeStart(skillsMount(this.settings, sandbox));
    if (this.settings.mayStart?.() === false) throw gone('the lease of this sandbox-manager has run out');
    const timeoutMs = Math.min(command.timeoutMs, this.settings.limits.commandTimeoutMs);
    const beganMs = systemClock.monotonicMs();
    try {
      const { client, egress } = session;
      // An agent that answers now has not ended since the last command: what fails later may have run.
      await beforeStart(client.hold(LEASE_MS));
      return await client.exec({ ...command, timeoutMs }, { egress, skills }, signal);
    } catch (error) {
      if (error instanceof TooLargeError) throw await this.dropFiles(sandbox, error);
      if (!(error instanceof UnavailableError)) throw error;
      const durationMs = systemClock.monotonicMs() - beganMs;
      return explainLoss(cluster.api, { pod: session.pod, error, durationMs });
    }
  }

  /** Ends a pod whose files can never be brought here; the next command gets another one with those of before. */
  private async dropFiles(sandbox: SandboxSpec, cause: TooLargeError): Promise<UnavailableError> {
    await this.mutex.run(sandbox.sandboxId, async () => (await this.open()).sessions.end(sandbox));
    return new UnavailableError(
      `${cause.message}: those of the command are dropped, and the sandbox is started again`,
      { cause, details: { dependency: 'kubernetes' } },
    );
  }

  remove(sandbox: SandboxSpec): Promise<void> {
    return this.mutex.run(sandbox.sandboxId, async () => {
      const { sessions } = await this.open();
      if (!(await sessions.end(sandbox))) await sessions.endPods(sandbox);
    });
  }

  async isAlive(sandbox: SandboxSpec): Promise<boolean> {
    const { sessions, cluster } = await this.open();
    const session = sessions.of(sandbox);
    if (session === undefined) return false;
    try {
      await session.client.health();
      return true;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
    }
    // A pod that runs and does not answer cannot execute commands either; where nobody answers, nothing is known.
    await cluster.api.get(session.pod.name);
    return false;
  }

  async domain(): Promise<string | undefined> {
    return (await this.open()).cluster.api.domain;
  }

  async list(): Promise<readonly SandboxInfo[]> {
    const { cluster } = await this.open();
    const { pods } = await cluster.api.list(podSelector(this.settings.kubernetes.installation));
    return pods.map((pod) => toSandboxInfo(pod, cluster.managerId)).filter((sandbox) => sandbox !== null);
  }

  async removeInstance(listed: SandboxInfo): Promise<void> {
    const { cluster } = await this.open();
    await cluster.remover.end(podOfInstance(listed));
  }

  async close(): Promise<void> {
    const opened = await this.opening?.catch(() => undefined);
    this.opening = undefined;
    await opened?.warm.stop();
    await opened?.sessions.close();
    await this.egress?.close();
    await opened?.cluster.close();
  }

  /** @throws {UnavailableError | ConfigError} when there is no access to a cluster */
  private async open(): Promise<Opened> {
    this.opening ??= this.openAll();
    const { opening } = this;
    try {
      return await opening;
    } catch (error) {
      if (this.opening === opening) this.opening = undefined;
      throw error;
    }
  }

  private async openAll(): Promise<Opened> {
    const { settings, egress, onFailure } = this;
    const cluster = await openCluster(settings, onFailure);
    const { managerId, starter, api, watcher, remover } = cluster;
    const hasUserNamespace = (): boolean => this.hasUserNamespace;
    const warm = new WarmPods({
      ...{ api, watcher, remover, onFailure, clock: systemClock, count: settings.kubernetes.warmPods },
      start: (signal) => starter.start({ ...warmPurpose(managerId), hasUserNamespace: hasUserNamespace() }, signal),
      hold: (pod) => holdWarmPod(pod, settings),
    });
    this.warm = warm;
    return { cluster, warm, sessions: new SandboxSessions({ settings, cluster, warm, egress, hasUserNamespace }) };
  }
}
