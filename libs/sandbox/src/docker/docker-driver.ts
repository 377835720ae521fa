import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidRequestError, newId, UnavailableError, omitUndefined } from '@caribou/contracts';
import type Docker from 'dockerode';
import type { Container, ContainerCreateOptions } from 'dockerode';
import { z } from 'zod';
import { commandIdentity } from '@caribou/core';
import { beforeStart, dataMounts, skillsMount } from '../drivers/available-mounts.js';
import { containerOptions, homeLabel, INIT_USER, LABEL, toSandboxInfo } from './container-options.js';
import { DriverContainers } from './docker-containers.js';
import { engineAt, engineMessage, unlessStatus, withinTime } from './docker-engine.js';
import { pinProblem } from './image-pin.js';
import { runInContainer } from './docker-run.js';
import {
  type SandboxCommand,
  SandboxGoneError,
  type SandboxInfo,
  type CommandResult,
  type SandboxSpec,
  MAX_COMMAND_BYTES,
  type Probe,
  type SandboxDriver,
} from '../drivers/driver.js';
import { EgressSockets } from '../drivers/egress-sockets.js';
import { endingTimes, lostExitCode, processesOfCommand } from './gvisor.js';
import { SandboxUsers } from '../drivers/sandbox-users.js';
import { NO_NETWORK } from '../drivers/sandbox-network.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { makeTrialHome } from '../drivers/trial-home.js';

const PING_TIMEOUT_MS = 3000;
/** The part of the engine's description of itself that is used here. */
const EngineInfo = z.object({ ID: z.string().min(1) });
const TRIAL_TIMEOUT_MS = 20_000;

/** Sandboxes as containers: one per thread, which lives while the thread is active; its name is the sandbox id. */
export class DockerDriver implements SandboxDriver {
  readonly kind = 'docker';
  private readonly engine: () => Docker;
  private readonly containers: DriverContainers;
  private readonly identity = commandIdentity();
  private readonly users: SandboxUsers;
  private readonly egress: EgressSockets | undefined;
  /** Which skills each sandbox was made with, by sandbox id. */
  private readonly skillsMounted = new Map<string, string | undefined>();

  /** With `home`, sandboxes are labelled as those of that installation: a trial that dies halfway is found there. */
  constructor(
    private readonly settings: SandboxSettings,
    private readonly home = homeLabel(settings),
  ) {
    this.engine = engineAt(settings.engineSocket);
    this.containers = new DriverContainers(this.engine, settings);
    const { network } = settings;
    this.egress = network === undefined ? undefined : new EgressSockets(settings, network, () => INIT_USER);
    this.users = new SandboxUsers(settings);
  }

  async probe(): Promise<Probe> {
    const { image } = this.settings;
    try {
      await withinTime(this.engine().ping(), PING_TIMEOUT_MS);
    } catch (error) {
      return { ok: false, reason: `no docker engine answers (the docker engine: ${engineMessage(error)})` };
    }
    try {
      const found = await unlessStatus(this.engine().getImage(image).inspect(), [404]);
      if (found === null) return { ok: false, reason: `the docker engine has no image ${image}` };
      const problem = pinProblem(image, found);
      if (problem !== null) return { ok: false, reason: problem };
      await this.tryOut();
      return { ok: true, detail: `docker: image ${image}, user ${this.identity.uid}` };
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return { ok: false, reason: error.message };
    }
  }

  /**
   * Runs one command under a thread without an owner, and checks that engine and manager mean the same directory.
   */
  private async tryOut(): Promise<void> {
    const { homeDir } = this.settings;
    this.settings.mounts.prepareHome();
    const home = makeTrialHome(this.settings);
    const trial = new DockerDriver({ ...this.settings, ...home.settings }, this.home);
    const sandbox = { sandboxId: `caribou-probe-${newId()}`, managerId: newId(), userId: 'probe', threadId: 'probe' };
    try {
      await trial.create(sandbox, { fresh: false });
      const command = { command: 'id -u && echo ok > probe', timeoutMs: TRIAL_TIMEOUT_MS, maxOutputBytes: 1024 };
      const { exitCode, stdout, stderr } = await trial.exec(sandbox, command, new AbortController().signal);
      if (exitCode !== 0 || stdout.trim() !== String(this.identity.uid)) {
        throw new UnavailableError(`a trial command answered ${exitCode}: ${stdout}${stderr}`.slice(0, 300));
      }
      if (stderr.includes(NO_NETWORK)) {
        throw new UnavailableError('the egress forwarder did not start in a trial sandbox: its image needs node');
      }
      if (!existsSync(join(home.data.workspace, 'probe'))) {
        throw new UnavailableError(
          `the docker engine knows ${homeDir} as another directory: mount it at the same path, or name the engine's path`,
        );
      }
    } finally {
      await trial.remove(sandbox);
      home.remove();
    }
  }

  create(sandbox: SandboxSpec, { fresh }: { readonly fresh: boolean }): Promise<void> {
    return this.containers.runExclusively(sandbox, async () => {
      // Files are given to another user only when nothing of the thread runs any more.
      if (fresh && this.settings.uids.count > 0) await this.containers.remove(sandbox);
      await this.users.prepare(sandbox);
      await this.containers.make(sandbox, await this.optionsFor(sandbox, { fresh }), { fresh });
    });
  }

  /**
   * The engine's options for a container with the current skills; the egress socket of the sandbox is open after that.
   */
  private async optionsFor(
    sandbox: SandboxSpec,
    { fresh }: { readonly fresh: boolean },
  ): Promise<ContainerCreateOptions> {
    const egressDirectory = await this.egress?.open(sandbox, { fresh });
    const egress = omitUndefined({ egressDirectory });
    const mountedSkills = await skillsMount(this.settings, sandbox);
    const skills = omitUndefined({ mountedSkills });
    this.skillsMounted.set(sandbox.sandboxId, mountedSkills?.instance);
    const data = await dataMounts(this.settings, sandbox, this.kind);
    return containerOptions({ ...this.settings, home: this.home, data, ...egress, ...skills }, sandbox);
  }

  /**
   * Removes a container by force and creates another one, unless it was removed or had ended otherwise: then the next
   * command creates one, and the name may belong to another manager by now.
   */
  private replace(sandbox: SandboxSpec, container: Container): Promise<void> {
    return this.containers.runExclusively(sandbox, async () => {
      const isCurrent = this.containers.isOf(sandbox, container);
      const ended = await this.containers.end(container.id);
      if (isCurrent && ended) await this.containers.add(sandbox, await this.optionsFor(sandbox, { fresh: false }));
    });
  }

  async exec(sandbox: SandboxSpec, command: SandboxCommand, signal: AbortSignal): Promise<CommandResult> {
    if (Buffer.byteLength(command.command) > MAX_COMMAND_BYTES) {
      throw new InvalidRequestError(`a command may have at most ${MAX_COMMAND_BYTES} bytes`);
    }
    await this.requireCurrentSkills(sandbox);
    const { commandTimeoutMs, outputCeilingBytes: ceilingBytes } = this.settings.limits;
    const timeoutMs = Math.min(command.timeoutMs, commandTimeoutMs);
    const container = this.containers.container(sandbox);
    const engine = {
      docker: this.engine(),
      identity: this.users.identityOf(sandbox),
      hasNetwork: this.egress !== undefined,
      mayStart: () => this.settings.mayStart?.() !== false,
      processes: processesOfCommand(this.settings),
      ending: endingTimes(this.settings),
      lostExitCode: lostExitCode(this.settings),
      replace: () => this.replace(sandbox, container),
      remove: () => this.containers.runExclusively(sandbox, () => this.containers.end(container.id)),
    };
    return runInContainer(engine, container, { ...command, timeoutMs }, { signal, ceilingBytes });
  }

  /** Checks the mounted skills: a container's mounts cannot change, others need a new one. @throws {SandboxGoneError} */
  private async requireCurrentSkills(sandbox: SandboxSpec): Promise<void> {
    const current = await beforeStart(skillsMount(this.settings, sandbox));
    if (!this.skillsMounted.has(sandbox.sandboxId) || this.skillsMounted.get(sandbox.sandboxId) === current?.instance)
      return;
    throw new SandboxGoneError('the skills of the sandbox are not those that are switched on', {
      details: { dependency: 'docker' },
    });
  }

  remove(sandbox: SandboxSpec): Promise<void> {
    return this.containers.runExclusively(sandbox, async () => {
      this.skillsMounted.delete(sandbox.sandboxId);
      await this.containers.remove(sandbox);
      this.users.release(sandbox);
      await this.egress?.close(sandbox);
    });
  }

  async isAlive(sandbox: SandboxSpec): Promise<boolean> {
    const found = await unlessStatus(this.containers.container(sandbox).inspect(), [404]);
    return found !== null && found.State.Running && !found.State.Paused;
  }

  /** The engine, by its id. */
  async domain(): Promise<string | undefined> {
    const info: unknown = await unlessStatus<unknown>(this.engine().info(), []);
    return EngineInfo.safeParse(info).data?.ID;
  }

  async removeInstance(listed: SandboxInfo): Promise<void> {
    await this.containers.end(listed.instance);
    this.egress?.removeLeft(listed);
  }

  async list(): Promise<readonly SandboxInfo[]> {
    const label = [`${LABEL.mark}=1`, `${LABEL.home}=${this.home}`];
    const containers = await unlessStatus(this.engine().listContainers({ all: true, filters: { label } }), []);
    return (containers ?? []).map(toSandboxInfo).filter((sandbox) => sandbox !== null);
  }
}
