import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { InvalidRequestError, newId, UnavailableError } from '@caribou/contracts';
import type Docker from 'dockerode';
import type { Container, ContainerCreateOptions } from 'dockerode';
import { commandIdentity } from '@caribou/core';
import { beforeStart, dataMounts, skillsMount } from '../drivers/available-mounts.js';
import { containerOptions, homeLabel, INIT_USER, LABEL, toBoxInfo } from './docker-box.js';
import { DriverContainers } from './docker-containers.js';
import { engineMessage, openEngine, unlessStatus, withinTime } from './docker-engine.js';
import { pinProblem } from './image-pin.js';
import { runInContainer } from './docker-run.js';
import {
  type BoxCommand,
  BoxGoneError,
  type BoxInfo,
  type BoxResult,
  type BoxSpec,
  MAX_COMMAND_BYTES,
  type Probe,
  type SandboxDriver,
} from '../drivers/driver.js';
import { ExitSockets } from '../drivers/exit-sockets.js';
import { endingTimes, lostExitCode, processesOfCommand } from './gvisor.js';
import { NO_EXIT } from '../drivers/sandbox-network.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { makeTrialHome } from '../drivers/trial-home.js';

const PING_TIMEOUT_MS = 3000;
const TRIAL_TIMEOUT_MS = 20_000;

/** Sandboxes as containers: one per thread, kept while the thread is active; its name is the sandbox id. */
export class DockerDriver implements SandboxDriver {
  readonly kind = 'docker';
  private readonly docker: Docker;
  private readonly containers: DriverContainers;
  private readonly identity = commandIdentity();
  private readonly exits: ExitSockets | undefined;
  /** Which skills each box was made with, by sandbox id. */
  private readonly skillsMounted = new Map<string, string | undefined>();

  /** With `home`, boxes are labelled as those of that installation: a trial that dies halfway is found there. */
  constructor(
    private readonly settings: SandboxSettings,
    private readonly home = homeLabel(settings),
  ) {
    this.docker = openEngine(settings.engineSocket);
    this.containers = new DriverContainers(this.docker, settings);
    const { network, homeDir } = settings;
    this.exits = network === undefined ? undefined : new ExitSockets(homeDir, network, INIT_USER);
  }

  async probe(): Promise<Probe> {
    const { image } = this.settings;
    try {
      await withinTime(this.docker.ping(), PING_TIMEOUT_MS);
    } catch (error) {
      return { ok: false, reason: `no docker engine answers (the docker engine: ${engineMessage(error)})` };
    }
    try {
      const found = await unlessStatus(this.docker.getImage(image).inspect(), [404]);
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

  /** Runs one command under a thread that belongs to nobody, and sees that engine and manager mean the same directory. */
  private async tryOut(): Promise<void> {
    const { homeDir, hostHomeDir } = this.settings;
    this.settings.mounts.prepareHome();
    const trialHome = makeTrialHome(homeDir);
    const seenByEngine =
      hostHomeDir === undefined ? {} : { hostHomeDir: join(hostHomeDir, basename(trialHome.homeDir)) };
    const trial = new DockerDriver({ ...this.settings, ...trialHome, ...seenByEngine }, this.home);
    const box = { sandboxId: `caribou-probe-${newId()}`, managerId: newId(), userId: 'probe', threadId: 'probe' };
    try {
      await trial.create(box, { fresh: false });
      const command = { command: 'id -u && echo ok > probe', timeoutMs: TRIAL_TIMEOUT_MS, maxOutputBytes: 1024 };
      const { exitCode, stdout, stderr } = await trial.exec(box, command, new AbortController().signal);
      if (exitCode !== 0 || stdout.trim() !== String(this.identity.uid)) {
        throw new UnavailableError(`a trial command answered ${exitCode}: ${stdout}${stderr}`.slice(0, 300));
      }
      if (stderr.includes(NO_EXIT)) {
        throw new UnavailableError('the way to the network did not come up in a trial box: its image needs node');
      }
      const { workspace } = await trialHome.mounts.dataOf(box);
      if (!existsSync(join(workspace, 'probe'))) {
        throw new UnavailableError(
          `the docker engine knows ${homeDir} as another directory: mount it at the same path, or name the engine's path`,
        );
      }
    } finally {
      await trial.remove(box);
      rmSync(trialHome.homeDir, { recursive: true, force: true });
    }
  }

  create(box: BoxSpec, { fresh }: { readonly fresh: boolean }): Promise<void> {
    return this.containers.inTurn(box, async () => {
      await this.settings.mounts.prepareData(box);
      await this.containers.make(box, await this.optionsFor(box, { fresh }), { fresh });
    });
  }

  /** The engine's options for a container with the current skills; the exit of the sandbox is open after that. */
  private async optionsFor(box: BoxSpec, { fresh }: { readonly fresh: boolean }): Promise<ContainerCreateOptions> {
    const exitDirectory = await this.exits?.open(box, { fresh });
    const exit = exitDirectory === undefined ? {} : { exitDirectory };
    const mountedSkills = await skillsMount(this.settings, box);
    const skills = mountedSkills === undefined ? {} : { mountedSkills };
    this.skillsMounted.set(box.sandboxId, mountedSkills?.instance);
    const data = await dataMounts(this.settings, box, this.kind);
    return containerOptions({ ...this.settings, home: this.home, data, ...exit, ...skills }, box);
  }

  /**
   * Removes a container by force and creates another one. Not where it was removed or had ended without this: whoever
   * needs it next creates it, and the name may be another manager's by now.
   */
  private replace(box: BoxSpec, container: Container): Promise<void> {
    return this.containers.inTurn(box, async () => {
      const isCurrent = this.containers.isOf(box, container);
      const ended = await this.containers.end(container.id);
      if (isCurrent && ended) await this.containers.add(box, await this.optionsFor(box, { fresh: false }));
    });
  }

  async exec(box: BoxSpec, command: BoxCommand, signal: AbortSignal): Promise<BoxResult> {
    if (Buffer.byteLength(command.command) > MAX_COMMAND_BYTES) {
      throw new InvalidRequestError(`a command may have at most ${MAX_COMMAND_BYTES} bytes`);
    }
    await this.requireCurrentSkills(box);
    const { commandTimeoutMs, outputCeilingBytes: ceilingBytes } = this.settings.limits;
    const timeoutMs = Math.min(command.timeoutMs, commandTimeoutMs);
    const container = this.containers.container(box);
    const engine = {
      docker: this.docker,
      identity: this.identity,
      hasNetwork: this.exits !== undefined,
      processes: processesOfCommand(this.settings),
      ending: endingTimes(this.settings),
      lostExitCode: lostExitCode(this.settings),
      replace: () => this.replace(box, container),
      remove: () => this.containers.inTurn(box, () => this.containers.end(container.id)),
    };
    return runInContainer(engine, container, { ...command, timeoutMs }, { signal, ceilingBytes });
  }

  /** A container keeps its mounts: for others it has to be made again. @throws {BoxGoneError} */
  private async requireCurrentSkills(box: BoxSpec): Promise<void> {
    const current = await beforeStart(skillsMount(this.settings, box));
    if (!this.skillsMounted.has(box.sandboxId) || this.skillsMounted.get(box.sandboxId) === current?.instance) return;
    throw new BoxGoneError('the skills of the box are not those that are switched on', {
      details: { dependency: 'docker' },
    });
  }

  remove(box: BoxSpec): Promise<void> {
    return this.containers.inTurn(box, async () => {
      this.skillsMounted.delete(box.sandboxId);
      await this.containers.remove(box);
      await this.exits?.close(box);
    });
  }

  async isAlive(box: BoxSpec): Promise<boolean> {
    const found = await unlessStatus(this.containers.container(box).inspect(), [404]);
    return found !== null && found.State.Running && !found.State.Paused;
  }

  async removeInstance(listed: BoxInfo): Promise<void> {
    await this.containers.end(listed.instance);
    this.exits?.removeLeft(listed);
  }

  async list(): Promise<readonly BoxInfo[]> {
    const label = [`${LABEL.mark}=1`, `${LABEL.home}=${this.home}`];
    const containers = await unlessStatus(this.docker.listContainers({ all: true, filters: { label } }), []);
    return (containers ?? []).map(toBoxInfo).filter((box) => box !== null);
  }
}
