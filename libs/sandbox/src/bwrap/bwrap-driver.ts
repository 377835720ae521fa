import { rmSync } from 'node:fs';
import { AppError, BugError, InvalidRequestError, newId, UnavailableError } from '@caribou/contracts';
import { commandIdentity } from '@caribou/core';
import { launch, type LaunchPlan, type LaunchSources } from './bwrap-launch.js';
import { beforeStart, dataMounts, skillsMount } from '../drivers/available-mounts.js';
import type { ProcessMark } from './bwrap-host.js';
import { explainFailure, planLaunch } from './bwrap-probe.js';
import { BwrapRecords, instanceOf } from './bwrap-records.js';
import { endGroup, follow } from './bwrap-run.js';
import {
  type BoxCommand,
  type BoxInfo,
  type BoxResult,
  type BoxSpec,
  MAX_COMMAND_BYTES,
  type Probe,
  type SandboxDriver,
} from '../drivers/driver.js';
import { ExitSockets } from '../drivers/exit-sockets.js';
import { killGroup } from './process-group.js';
import { NO_EXIT } from '../drivers/sandbox-network.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { makeTrialHome } from '../drivers/trial-home.js';

const PROBE_TIMEOUT_MS = 10_000;

/**
 * Sandboxes by bubblewrap: a box per command, made of namespaces, so the box of a thread is only a name and whatever
 * runs under it. Weaker than a container where CPU and memory are concerned: limits are per process.
 */
export class BwrapDriver implements SandboxDriver {
  readonly kind = 'bwrap';
  private readonly records: BwrapRecords;
  private readonly exits: ExitSockets | undefined;
  private plan: LaunchPlan | undefined;

  constructor(private readonly settings: SandboxSettings) {
    this.records = new BwrapRecords(settings.homeDir);
    const { network, homeDir } = settings;
    this.exits = network === undefined ? undefined : new ExitSockets(homeDir, network, commandIdentity());
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
      // A probe answers in words; whatever failed on the way is the reason.
      return {
        ok: false,
        reason: explainFailure(error instanceof Error || error instanceof AppError ? error.message : String(error)),
      };
    }
  }

  /** Runs one command under a thread that belongs to nobody. @throws {UnavailableError} when that does not go well */
  private async tryOut(plan: LaunchPlan): Promise<void> {
    const { homeDir, mounts } = makeTrialHome(this.settings.homeDir);
    const trial = new BwrapDriver({ ...this.settings, homeDir, mounts });
    trial.plan = plan;
    const box = { sandboxId: 'probe', managerId: newId(), userId: 'probe', threadId: 'probe' };
    try {
      await trial.create(box, { fresh: false });
      const command = { command: 'id -u && echo ok > probe', timeoutMs: PROBE_TIMEOUT_MS, maxOutputBytes: 1024 };
      const { exitCode, stdout, stderr } = await trial.exec(box, command, new AbortController().signal);
      if (exitCode !== 0 || stdout.trim() !== String(plan.identity.uid)) {
        throw new UnavailableError(`a trial command answered ${exitCode}: ${stdout}${stderr}`.slice(0, 300));
      }
      if (stderr.includes(NO_EXIT)) throw new UnavailableError('the way to the network did not come up in a trial box');
    } finally {
      await trial.remove(box);
      rmSync(homeDir, { recursive: true, force: true });
    }
  }

  async create(box: BoxSpec, { fresh }: { readonly fresh: boolean }): Promise<void> {
    await this.settings.mounts.prepareData(box);
    if (fresh) await this.endRecorded(box);
    await this.exits?.open(box, { fresh });
  }

  async exec(box: BoxSpec, command: BoxCommand, signal: AbortSignal): Promise<BoxResult> {
    if (Buffer.byteLength(command.command) > MAX_COMMAND_BYTES) {
      throw new InvalidRequestError(`a command may have at most ${MAX_COMMAND_BYTES} bytes`);
    }
    const { plan } = this;
    if (plan === undefined) throw new BugError('probe() must have passed before exec()');
    const timeoutMs = Math.min(command.timeoutMs, this.settings.limits.commandTimeoutMs);
    const sources = await beforeStart(this.sourcesOf(box));
    const launched = launch(plan, sources, { ...command, timeoutMs });
    const { leader } = launched;
    try {
      if (leader !== null) this.record(box, leader);
      const { outputCeilingBytes: ceilingBytes } = this.settings.limits;
      return await follow(launched, { ...command, timeoutMs }, { signal, ceilingBytes });
    } finally {
      if (leader !== null) this.records.remove(box.sandboxId, leader.pid);
    }
  }

  /** What is not on record has to end: another manager could not end it. */
  private record(box: BoxSpec, leader: ProcessMark): void {
    try {
      this.records.write(box, leader);
    } catch (error) {
      killGroup(leader);
      throw error;
    }
  }

  /** What is mounted. @throws {UnavailableError} when a part of it is not there */
  private async sourcesOf(box: BoxSpec): Promise<LaunchSources> {
    const data = await dataMounts(this.settings, box, this.kind);
    const exit = await this.exits?.directoryOf(box);
    if (this.exits !== undefined && exit === undefined) throw new UnavailableError('the exit of the box is not there');
    const skills = await skillsMount(this.settings, box);
    return {
      data,
      ...(skills === undefined ? {} : { skills: skills.directory }),
      ...(exit === undefined ? {} : { exit }),
    };
  }

  async remove(box: BoxSpec): Promise<void> {
    await this.endRecorded(box);
    await this.exits?.close(box);
  }

  async removeInstance(listed: BoxInfo): Promise<void> {
    await this.endRecorded(listed, listed.instance);
    this.exits?.removeLeft(listed);
  }

  isAlive(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /** Ends what the record names; with `instance`, only when it names that one. */
  private async endRecorded({ sandboxId }: BoxSpec, instance?: string): Promise<void> {
    const record = this.records.read(sandboxId);
    if (record === null || (instance !== undefined && instanceOf(record) !== instance)) return;
    await endGroup(record);
    this.records.remove(sandboxId, record.pid);
  }

  list(): Promise<readonly BoxInfo[]> {
    return Promise.resolve(this.records.list());
  }
}
