import { readlink } from 'node:fs/promises';
import { AppError, BugError, InvalidRequestError, newId, UnavailableError, omitUndefined } from '@caribou/contracts';
import { launch, type LaunchPlan, type LaunchSources } from './bwrap-launch.js';
import { beforeStart, dataMounts, skillsMount } from '../drivers/available-mounts.js';
import type { ProcessIdentity } from './bwrap-host.js';
import { explainFailure, planLaunch } from './bwrap-probe.js';
import { BwrapRecords, instanceOf } from './bwrap-records.js';
import { endGroup, follow } from './bwrap-run.js';
import {
  type SandboxCommand,
  type SandboxInfo,
  type CommandResult,
  type SandboxSpec,
  MAX_COMMAND_BYTES,
  type Probe,
  type SandboxDriver,
} from '../drivers/driver.js';
import { EgressSockets } from '../drivers/egress-sockets.js';
import { SandboxUsers } from '../drivers/sandbox-users.js';
import { killGroup } from './process-group.js';
import { NO_NETWORK } from '../drivers/sandbox-network.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { makeTrialHome } from '../drivers/trial-home.js';

const PROBE_TIMEOUT_MS = 10_000;

const leaseIsOver = (): UnavailableError =>
  new UnavailableError('the lease of this sandbox-manager has run out', { details: { dependency: 'redis' } });

/**
 * Sandboxes by bubblewrap: a sandbox per command, made of namespaces, so the sandbox of a thread is only a name and
 * whatever runs under it. Weaker than a container where CPU and memory are concerned: limits are per process.
 */
export class BwrapDriver implements SandboxDriver {
  readonly kind = 'bwrap';
  private readonly records: BwrapRecords;
  private readonly users: SandboxUsers;
  private readonly egress: EgressSockets | undefined;
  private plan: LaunchPlan | undefined;

  constructor(private readonly settings: SandboxSettings) {
    this.records = new BwrapRecords(settings);
    this.users = new SandboxUsers(settings);
    const { network } = settings;
    const userOf = (sandbox: SandboxSpec) => this.users.identityOf(sandbox);
    this.egress = network === undefined ? undefined : new EgressSockets(settings, network, userOf);
  }

  async probe(): Promise<Probe> {
    try {
      const planned = await planLaunch(this.settings);
      if (!planned.ok) return planned;
      if (planned.plan.identity.uid === 0) return { ok: false, reason: 'commands must not run as root' };
      await this.tryOut(planned.plan);
      this.plan = planned.plan;
      return { ok: true, detail: `bubblewrap: ${planned.detail}` };
    } catch (error) {
      // A probe answers with a text; any failure on the way is the reason.
      return {
        ok: false,
        reason: explainFailure(error instanceof Error || error instanceof AppError ? error.message : String(error)),
      };
    }
  }

  /** Runs one command under a thread without an owner. @throws {UnavailableError} when that fails */
  private async tryOut(plan: LaunchPlan): Promise<void> {
    const home = makeTrialHome(this.settings);
    const trial = new BwrapDriver({ ...this.settings, ...home.settings });
    trial.plan = plan;
    const sandbox = { sandboxId: 'probe', managerId: newId(), userId: 'probe', threadId: 'probe' };
    try {
      await trial.create(sandbox, { fresh: false });
      const command = { command: 'id -u && echo ok > probe', timeoutMs: PROBE_TIMEOUT_MS, maxOutputBytes: 1024 };
      const { exitCode, stdout, stderr } = await trial.exec(sandbox, command, new AbortController().signal);
      if (exitCode !== 0 || stdout.trim() !== String(plan.identity.uid)) {
        throw new UnavailableError(`a trial command answered ${exitCode}: ${stdout}${stderr}`.slice(0, 300));
      }
      if (stderr.includes(NO_NETWORK))
        throw new UnavailableError('the egress forwarder did not start in a trial sandbox');
    } finally {
      await trial.remove(sandbox);
      home.remove();
    }
  }

  async create(sandbox: SandboxSpec, { fresh }: { readonly fresh: boolean }): Promise<void> {
    if (fresh) await this.endRecorded(sandbox);
    await this.users.prepare(sandbox);
    await this.egress?.open(sandbox, { fresh });
  }

  async exec(sandbox: SandboxSpec, command: SandboxCommand, signal: AbortSignal): Promise<CommandResult> {
    if (Buffer.byteLength(command.command) > MAX_COMMAND_BYTES) {
      throw new InvalidRequestError(`a command may have at most ${MAX_COMMAND_BYTES} bytes`);
    }
    const { plan } = this;
    if (plan === undefined) throw new BugError('probe() must have passed before exec()');
    const timeoutMs = Math.min(command.timeoutMs, this.settings.limits.commandTimeoutMs);
    const sources = await beforeStart(this.sourcesOf(sandbox));
    const own = { ...plan, identity: this.users.identityOf(sandbox) };
    const launched = launch(own, sources, { ...command, timeoutMs }, (leader) => this.record(sandbox, leader));
    const { leader } = launched;
    try {
      const { outputCeilingBytes: ceilingBytes } = this.settings.limits;
      return await follow(launched, { ...command, timeoutMs }, { signal, ceilingBytes });
    } finally {
      if (leader !== null) this.records.remove(sandbox.sandboxId, leader.pid);
    }
  }

  /**
   * Records the process; ends it when that fails, as nobody else could end it, or when no command may start any more:
   * one that is recorded before that is ended by the guard of the lease.
   */
  private record(sandbox: SandboxSpec, leader: ProcessIdentity): void {
    try {
      this.records.write(sandbox, leader);
      if (this.settings.mayStart?.() === false) throw leaseIsOver();
    } catch (error) {
      killGroup(leader);
      throw error;
    }
  }

  /** Returns the directories to mount. @throws {UnavailableError} when one of them is missing */
  private async sourcesOf(sandbox: SandboxSpec): Promise<LaunchSources> {
    const data = await dataMounts(this.settings, sandbox, this.kind);
    const egress = await this.egress?.directoryOf(sandbox);
    if (this.egress !== undefined && egress === undefined)
      throw new UnavailableError('the egress socket of the sandbox does not exist');
    const skills = await skillsMount(this.settings, sandbox);
    return {
      data,
      ...(skills === undefined ? {} : { skills: skills.directory }),
      ...omitUndefined({ egress }),
    };
  }

  async remove(sandbox: SandboxSpec): Promise<void> {
    await this.endRecorded(sandbox);
    this.users.release(sandbox);
    await this.egress?.close(sandbox);
  }

  async removeInstance(listed: SandboxInfo): Promise<void> {
    await this.endRecorded(listed, listed.instance);
    this.egress?.removeLeft(listed);
  }

  isAlive(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /** The process namespace: a record of another one names processes that this manager cannot see. */
  domain(): Promise<string> {
    return readlink('/proc/self/ns/pid');
  }

  /** Ends the processes that records name; with `instance`, only that one. */
  private async endRecorded({ sandboxId }: SandboxSpec, instance?: string): Promise<void> {
    for (const record of this.records.read(sandboxId)) {
      if (instance !== undefined && instanceOf(record) !== instance) continue;
      await endGroup(record);
      this.records.remove(sandboxId, record.pid);
    }
  }

  list(): Promise<readonly SandboxInfo[]> {
    return Promise.resolve(this.records.list());
  }
}
