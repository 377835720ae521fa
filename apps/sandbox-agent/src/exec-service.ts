import type { AgentSettings } from '@caribou/config';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  AgentExecHead,
  type AgentExecResult,
  AgentPullHead,
  AppError,
  encodeFrame,
  type Frame,
  FrameError,
  InvalidRequestError,
  UnavailableError,
} from '@caribou/contracts';
import { encodeStep, errnoOf, stepsOf, VIRTUAL_ROOT } from '@caribou/core';
import { refusal, SandboxFiles } from './files/sandbox-files.js';
import { framesOf, readHead, requireEnd } from './http/body-frames.js';
import { EgressRelay } from './http/egress-relay.js';
import { FrameReply } from './http/frame-reply.js';
import { CommandRun } from './process/command-run.js';
import { endAll, otherProcesses } from './process/end-all.js';
import type { ProcessOne } from './process/process-one.js';
import { QuotaWatch } from './process/quota-watch.js';

interface Running {
  readonly id: string;
  readonly run: CommandRun;
}

/** Runs commands and exchanges files, one request at a time. */
export class ExecService {
  private readonly files: SandboxFiles;
  private readonly relay: EgressRelay;
  private readonly quota = new QuotaWatch(VIRTUAL_ROOT);
  private busy: string | null = null;
  private running: Running | undefined;

  /** @param mayRun whether the lease lasts */
  constructor(
    private readonly one: ProcessOne,
    { proxyPort, skillsDirectory }: Pick<AgentSettings, 'proxyPort' | 'skillsDirectory'>,
    private readonly mayRun: () => boolean,
  ) {
    this.files = new SandboxFiles(skillsDirectory);
    this.relay = new EgressRelay(proxyPort);
  }

  get state() {
    return { running: this.busy, processes: otherProcesses().length, mirror: this.files.position };
  }

  /** Ends the command of a request, or whatever runs; whether there was one. */
  end(id?: string): boolean {
    const { running } = this;
    if (running === undefined || (id !== undefined && running.id !== id)) return false;
    running.run.end('cancel');
    return true;
  }

  /** `POST /v1/exec`. @throws {AppError} before the reply has begun */
  async exec(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await this.alone(async () => {
      const frames = framesOf(request);
      const head = await readHead(frames, AgentExecHead);
      this.busy = head.id;
      if (!this.mayRun()) throw refusal('no_lease', 'nothing runs in this sandbox without a lease');
      await endAll(this.one);
      await this.files.begin(head.mirror);
      return this.replied(new FrameReply(response), async (reply) => {
        await this.takeFiles(frames, head);
        const result = await this.run(reply, head, response);
        await this.sendChanges(reply);
        void this.quota.note(head.quota);
        return { ...result, mirror: { number: this.files.position.number } } satisfies AgentExecResult;
      });
    });
  }

  /** `POST /v1/pull`. @throws {AppError} before the reply has begun */
  async pull(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await this.alone(async () => {
      const frames = framesOf(request);
      const head = await readHead(frames, AgentPullHead);
      await requireEnd(frames);
      this.busy = head.id;
      await endAll(this.one);
      this.files.beginPull(head.mirror);
      return this.replied(new FrameReply(response), async (reply) => {
        await this.sendChanges(reply);
        return { mirror: { number: this.files.position.number } };
      });
    });
  }

  /**
   * Does the work of a request while no other one may begin; the end of the reply, which the work returns, is sent when the next one may.
   *
   * @throws {ConflictError} while another request is under way
   */
  private async alone(work: () => Promise<() => Promise<void>>): Promise<void> {
    if (this.busy !== null) throw refusal('busy', 'another request runs in this sandbox');
    this.busy = '';
    const finish = await work()
      .catch((error: unknown) => {
        throw toAppError(error);
      })
      .finally(() => {
        this.busy = null;
      });
    await finish();
  }

  /** Does the work; returns what sends its result, or its failure. */
  private async replied(
    reply: FrameReply,
    work: (reply: FrameReply) => Promise<unknown>,
  ): Promise<() => Promise<void>> {
    try {
      const result = await work(reply).finally(() => this.files.tidy());
      return () => reply.finish(result);
    } catch (error) {
      return () => reply.fail(toAppError(error));
    }
  }

  private async takeFiles(frames: AsyncGenerator<Frame, void, undefined>, head: AgentExecHead): Promise<void> {
    await this.files.receive(stepsOf(frames));
    const { skills } = this.files;
    if (head.skills?.changed === true) await skills.replace(head.skills.instance, stepsOf(frames));
    else if (head.skills === null) await skills.clear();
    await requireEnd(frames);
    await this.files.tidy();
  }

  private async run(
    reply: FrameReply,
    head: AgentExecHead,
    response: ServerResponse,
  ): Promise<Omit<AgentExecResult, 'mirror'>> {
    await this.relay.use(head.egress);
    const run = new CommandRun(this.one, head, head.live ? reply.output : undefined);
    const onClose = (): void => run.end('cancel');
    this.running = { id: head.id, run };
    response.once('close', onClose);
    const until = new AbortController();
    let quotaReason: string | null = null;
    const watching = this.quota.run(head.quota, until.signal, (reason) => {
      quotaReason = reason;
      run.end('quota');
    });
    try {
      if (response.destroyed || !this.mayRun()) run.end('cancel');
      await reply.send(encodeFrame('started'));
      const ended = await run.run();
      const skills = await this.files.skills.check();
      return { ...ended, skills, quotaReason: ended.endedBy === 'quota' ? quotaReason : null };
    } finally {
      this.running = undefined;
      response.off('close', onClose);
      until.abort();
      this.relay.cut();
      await watching;
    }
  }

  private async sendChanges(reply: FrameReply): Promise<void> {
    // A large tree is scanned by programs.
    await this.one.withPrograms(async () => {
      for await (const step of this.files.changes()) await reply.send(encodeStep(step));
    });
  }
}

/** The refusal of a request, for its sender. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof FrameError)
    return new InvalidRequestError(error.message, { details: { reason: 'malformed' }, cause: error });
  const errno = errnoOf(error);
  return new UnavailableError(
    errno === undefined ? 'the sandbox agent has failed' : `the files of the sandbox cannot be worked on (${errno})`,
    { cause: error, details: { dependency: 'sandbox' } },
  );
}
