import { randomUUID } from 'node:crypto';
import {
  AGENT_ROUTES,
  AgentExecResult,
  AgentHealth,
  AgentKilled,
  AppError,
  encodeJsonFrame,
  FRAMES_TYPE,
  InvalidRequestError,
} from '@caribou/contracts';
import { encodeStep, type MirrorStep } from '@caribou/core';
import { type CommandResult, MAX_COMMAND_BYTES, type SandboxCommand, SandboxGoneError } from '../../drivers/driver.js';
import { AgentHttp, toUnavailable } from './agent-http.js';
import type { AgentClient, AgentClientOptions, AgentSurroundings } from './agent-client.js';
import { execHead, notBegun, toCommandResult } from './exec-head.js';
import { readReply } from './reply-frames.js';

const CONTROL_MS = 5_000;
/** An agent that has the head of a request ends what an earlier one has left, and sends its first frame within this time. */
const FIRST_FRAME_MS = 30_000;
/** The result of a command that was ended arrives within this time, with the files that it has changed. */
const LAST_RESULT_MS = 60_000;

/** A request whose connection broke off is over at the agent within this time. */
const ENDING_MS = 15_000;
const ENDING_PAUSE_MS = 50;

/** Where an exec is: what has happened decides what its failure means. */
interface Progress {
  /** Whether the agent may have the whole request. */
  isSent: boolean;
  hasStarted: boolean;
}

const reasonOf = (error: unknown): unknown => (error instanceof AppError ? error.details.reason : undefined);

/** See AgentClient. */
export class HttpAgentClient implements AgentClient {
  private readonly http: AgentHttp;
  private session = randomUUID();
  /** Whether the agent is to drop the files that it has, as nothing is known of them. */
  private isNew = true;
  /** Number of the last changes of the agent that are in the copy. */
  private ack = 0;
  private mustPull = false;
  /** Instance of the skills that the pod has. */
  private skills: string | null = null;
  private isClosed = false;

  constructor(private readonly options: AgentClientOptions) {
    this.http = new AgentHttp(options.endpoint);
    options.mirror.reset();
  }

  async health(signal?: AbortSignal): Promise<AgentHealth> {
    const { health: path } = AGENT_ROUTES;
    const reply = await this.http.json({
      method: 'GET',
      path,
      timeoutMs: CONTROL_MS,
      ...(signal === undefined ? {} : { signal }),
    });
    return AgentHealth.parse(reply);
  }

  async hold(leaseMs: number): Promise<void> {
    await this.post(AGENT_ROUTES.lease, { leaseMs });
  }

  async kill(): Promise<boolean> {
    return AgentKilled.parse(await this.post(AGENT_ROUTES.kill, {})).ended;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.http.close();
    await this.options.mirror.close();
  }

  async exec(command: SandboxCommand, surroundings: AgentSurroundings, signal: AbortSignal): Promise<CommandResult> {
    const bytes = Buffer.byteLength(command.command);
    if (bytes > MAX_COMMAND_BYTES)
      throw new InvalidRequestError(`a command may have ${MAX_COMMAND_BYTES} bytes, and not ${bytes}`);
    if (signal.aborted) return notBegun();
    if (this.mustPull) await this.pull();
    try {
      return await this.execOnce(command, surroundings, signal);
    } catch (error) {
      // Refused before anything ran: the pod has other files than the client supposes, or some that the client does not have.
      if (reasonOf(error) === 'other_session') this.begin();
      else if (reasonOf(error) === 'not_acknowledged') await this.pull();
      else throw error;
      return await this.execOnce(command, surroundings, signal);
    }
  }

  async pull(): Promise<void> {
    const { clock } = this.options;
    const untilMs = clock.monotonicMs() + ENDING_MS;
    for (;;) {
      try {
        return await this.pullOnce();
      } catch (error) {
        if (reasonOf(error) !== 'busy' || clock.monotonicMs() > untilMs) throw error;
        await clock.sleep(ENDING_PAUSE_MS);
      }
    }
  }

  private async pullOnce(): Promise<void> {
    const head = encodeJsonFrame('head', { id: randomUUID(), mirror: this.position });
    try {
      const reply = await this.http.open({
        method: 'POST',
        path: AGENT_ROUTES.pull,
        body: { type: FRAMES_TYPE, bytes: head },
        timeoutMs: LAST_RESULT_MS,
      });
      const result = await readReply(reply, { mirror: this.options.mirror, onStarted: ignore, onOutput: ignore });
      this.ack = AgentExecResult.pick({ mirror: true }).parse(result).mirror.number;
      this.mustPull = false;
    } catch (error) {
      if (reasonOf(error) === 'other_session') this.begin();
      else throw error instanceof AppError ? error : toUnavailable(error);
    }
  }

  private get position() {
    return { session: this.session, reset: this.isNew, ack: this.ack };
  }

  /** The pod is to get all files again. */
  private begin(): void {
    this.session = randomUUID();
    this.isNew = true;
    this.ack = 0;
    this.mustPull = false;
    this.skills = null;
    this.options.mirror.reset();
  }

  private async execOnce(
    command: SandboxCommand,
    surroundings: AgentSurroundings,
    signal: AbortSignal,
  ): Promise<CommandResult> {
    const progress: Progress = { isSent: false, hasStarted: false };
    const id = randomUUID();
    const stopped = new AbortController();
    const stopCancelling = this.cancelOn(signal, id, stopped);
    try {
      const reply = await this.http.open({
        method: 'POST',
        path: AGENT_ROUTES.exec,
        body: { type: FRAMES_TYPE, bytes: this.body(id, { command, surroundings, progress }) },
        timeoutMs: FIRST_FRAME_MS,
        signal: stopped.signal,
      });
      const result = await readReply(reply, {
        mirror: this.options.mirror,
        onStarted: () => this.onStarted(progress),
        onOutput: (stream, chunk) => command.onOutput?.(stream, chunk),
      });
      const { mirror, skills, ...rest } = AgentExecResult.parse(result);
      this.ack = mirror.number;
      this.skills = skills;
      return toCommandResult(rest);
    } catch (error) {
      throw await this.failureOf(error, progress);
    } finally {
      stopCancelling();
    }
  }

  /** The pod has the files of the request. */
  private onStarted(progress: Progress): void {
    progress.hasStarted = true;
    this.isNew = false;
    this.options.mirror.onSent();
  }

  private async *body(
    id: string,
    {
      command,
      surroundings,
      progress,
    }: {
      readonly command: SandboxCommand;
      readonly surroundings: AgentSurroundings;
      readonly progress: Progress;
    },
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { limits, ownUsers, mirror, skills } = this.options;
    const mount = surroundings.skills;
    const changed = mount !== undefined && mount.instance !== this.skills;
    const position = this.position;
    yield encodeJsonFrame('head', execHead(id, { command, surroundings, limits, ownUsers, position, changed }));
    yield* framesOf(mirror.changes(), () => {
      progress.isSent = !changed;
    });
    if (mount === undefined || !changed) return;
    yield* framesOf(skills.skills(mount), () => {
      progress.isSent = true;
    });
  }

  /** Ends the command when the signal aborts; and the connection, when its result does not come then. */
  private cancelOn(signal: AbortSignal, id: string, stopped: AbortController): () => void {
    let late: NodeJS.Timeout | undefined;
    const cancel = (): void => {
      late = setTimeout(() => stopped.abort(), LAST_RESULT_MS);
      this.post(AGENT_ROUTES.kill, { id }).catch(() => stopped.abort());
    };
    signal.addEventListener('abort', cancel, { once: true });
    return () => {
      clearTimeout(late);
      signal.removeEventListener('abort', cancel);
    };
  }

  private async failureOf(error: unknown, { isSent, hasStarted }: Progress): Promise<unknown> {
    const reason = reasonOf(error);
    if (error instanceof AppError && !hasStarted && reason !== undefined && reason !== 'no_lease') return error;
    const { neverConnected, wasRefused } = error instanceof AppError ? error.details : {};
    if (!isSent || reason === 'no_lease' || neverConnected === true || wasRefused === true)
      return new SandboxGoneError(toUnavailable(error).message, {
        cause: error,
        details: { dependency: 'kubernetes' },
      });
    this.mustPull = !this.isNew;
    // What the command has written is brought here at once, while the pod lives.
    if (hasStarted) await this.pull().catch(ignore);
    return error instanceof AppError ? error : toUnavailable(error);
  }

  private post(path: string, value: unknown): Promise<unknown> {
    const bytes = Buffer.from(JSON.stringify(value));
    return this.http.json({
      method: 'POST',
      path,
      body: { type: 'application/json', bytes },
      timeoutMs: CONTROL_MS,
    });
  }
}

const ignore = (): void => undefined;

/** The frames of steps; `onLast` is called before the last one is given away. */
async function* framesOf(
  steps: AsyncIterable<MirrorStep>,
  onLast: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const step of steps) {
    if (step.kind === 'end') onLast();
    yield encodeStep(step);
  }
}
