import {
  CheckpointId,
  type CommandParams,
  ConflictError,
  InterruptId,
  type InterruptRecord,
  isRecord,
  LEAD_AGENT,
  NotFoundError,
  RunCreate,
  type RunRecord,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import { parse } from '../../http/parse-input.js';
import { RunsService } from '../../runs/runs.service.js';
import type { StartHeaders } from '../../runs/started-run.js';
import { ProtocolRefusal } from './protocol-refusal.js';

/** A run and its ordinal in the thread. */
export interface ThreadRun {
  readonly run_id: string;
  readonly ordinal: number;
}

/** Commands that start or continue runs. */
@Injectable()
export class RunCommands {
  constructor(
    @Dependency('threadStore') private readonly store: Pick<ThreadStore, 'getThread'>,
    private readonly runs: RunsService,
  ) {}

  /**
   * Starts a run, on a thread that is created if needed. On a thread that waits for an answer, the input is that answer; while a
   * run is under way and no strategy is named, the input is for that run.
   */
  async start(thread: ThreadKey, params: CommandParams<'run.start'>, headers: StartHeaders): Promise<ThreadRun> {
    // A repeated request that answered finds nothing open any more.
    const repeated = await this.runs.findRepeated(thread, headers);
    if (repeated !== null) return repeated;
    const { multitaskStrategy, langsmith_tracer: tracer, ...given } = params;
    if (tracer !== undefined && tracer !== null)
      throw new ProtocolRefusal(
        'not_supported',
        'langsmith_tracer: traces are sent where the operator of the server says',
      );
    const strategy = given.multitask_strategy ?? multitaskStrategy;
    const request = { if_not_exists: 'create', ...given, ...checkpointOf(given.config), multitask_strategy: strategy };
    const answer = 'checkpoint_id' in request ? undefined : await this.answerOf(thread, given.input);
    const body = parse(RunCreate, answer === undefined ? request : { ...request, ...answer }, 'params');
    try {
      return await this.admit(thread, body, headers);
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      // Somebody else has answered in the meantime: an answer is no message for the run that continues.
      if (answer !== undefined) throw refusedAnswer(error);
      if (strategy !== undefined && strategy !== null) throw error;
      return await this.admit(thread, { ...body, multitask_strategy: 'steer' }, headers);
    }
  }

  /** Answers interrupts of the thread, by which its run continues as a new one. */
  async respond(thread: ThreadKey, params: CommandParams<'input.respond'>, headers: StartHeaders): Promise<ThreadRun> {
    const { update, goto, config, metadata } = params;
    const resume = answersOf(params);
    const assistant_id = await this.assistantThatAsks(thread);
    const command = { resume, ...nonNull({ update, goto }) };
    const body = parse(RunCreate, { assistant_id, command, ...nonNull({ config, metadata }) }, 'params');
    try {
      return await this.runs.start(thread, body, headers);
    } catch (error) {
      throw error instanceof ConflictError ? refusedAnswer(error) : error;
    }
  }

  /** Starts a run from an older checkpoint. */
  async fork(thread: ThreadKey, params: CommandParams<'state.fork'>, headers: StartHeaders): Promise<RunRecord> {
    const { checkpoint_id, input = null, config } = params;
    if (!CheckpointId.safeParse(checkpoint_id).success) throw noCheckpoint(checkpoint_id);
    const assistant_id = await this.assistantOf(thread);
    const body = parse(RunCreate, { assistant_id, input, config, checkpoint_id }, 'params');
    return await this.admit(thread, body, headers);
  }

  /** Gives a message to the run that is under way. @throws {ProtocolRefusal} `no_such_run` when there is none */
  async inject(thread: ThreadKey, params: CommandParams<'input.inject'>, headers: StartHeaders): Promise<void> {
    const { namespace, message } = params;
    const { role, ...rest } = message;
    if (namespace.length > 0)
      throw new ProtocolRefusal('no_such_namespace', 'namespace: messages are given to the agent of the thread, at []');
    if (role !== 'user') throw new ProtocolRefusal('not_supported', 'message.role: must be user');
    try {
      await this.runs.inject(thread, [{ type: 'human', ...rest }], headers);
    } catch (error) {
      if (error instanceof ConflictError || error instanceof NotFoundError)
        throw new ProtocolRefusal('no_such_run', error.message);
      throw error;
    }
  }

  /** The input as the answer that the thread waits for; undefined when it waits for none. */
  private async answerOf(thread: ThreadKey, input: unknown): Promise<object | undefined> {
    if (input === undefined || input === null) return undefined;
    const [first, ...others] = await this.openInterrupts(thread);
    if (first === undefined) return undefined;
    return { input: null, command: { resume: others.length === 0 ? { [first.id]: input } : input } };
  }

  private async openInterrupts(thread: ThreadKey): Promise<readonly InterruptRecord[]> {
    try {
      return (await this.store.getThread(thread)).values.interrupts?.open ?? [];
    } catch (error) {
      if (error instanceof NotFoundError) return [];
      throw error;
    }
  }

  private async admit(thread: ThreadKey, body: RunCreate, headers: StartHeaders): Promise<RunRecord> {
    try {
      return await this.runs.start(thread, body, headers);
    } catch (error) {
      const { checkpoint_id: checkpointId } = body;
      if (error instanceof NotFoundError && checkpointId !== undefined && checkpointId !== null)
        throw noCheckpoint(checkpointId);
      throw error;
    }
  }

  /** @throws {ProtocolRefusal} `no_such_interrupt` when the user has no such thread */
  private async assistantThatAsks(thread: ThreadKey): Promise<string> {
    try {
      return await this.assistantOf(thread);
    } catch (error) {
      if (error instanceof NotFoundError) throw new ProtocolRefusal('no_such_interrupt', error.message);
      throw error;
    }
  }

  /** The assistant that the thread was started with. */
  private async assistantOf(thread: ThreadKey): Promise<string> {
    const { metadata } = await this.store.getThread(thread);
    const id = metadata['assistant_id'];
    return typeof id === 'string' ? id : LEAD_AGENT;
  }
}

/** Also of a thread that runs: somebody else has answered. An interrupt that is open, but about another call, is there. */
function refusedAnswer(error: ConflictError): Error {
  return error.details['field'] === 'call_hash' ? error : new ProtocolRefusal('no_such_interrupt', error.message);
}

const noCheckpoint = (id: string): ProtocolRefusal =>
  new ProtocolRefusal('no_such_checkpoint', `Checkpoint ${id.slice(0, 100)} does not exist`);

/** The checkpoint that clients name in the config of a run. */
function checkpointOf(config: unknown): { readonly checkpoint_id?: unknown } {
  const configurable = isRecord(config) ? config['configurable'] : undefined;
  const id = isRecord(configurable) ? configurable['checkpoint_id'] : undefined;
  return id === undefined || id === null ? {} : { checkpoint_id: id };
}

/**
 * The answers by interrupt.
 *
 * @throws {ProtocolRefusal} for an id that no interrupt has, and for two answers to one
 */
function answersOf(params: CommandParams<'input.respond'>): Readonly<Record<string, unknown>> {
  const { interrupt_id: id, response } = params;
  const answers = params.responses ?? (id === undefined ? [] : [{ interrupt_id: id, response }]);
  for (const { interrupt_id: given } of answers)
    if (!InterruptId.safeParse(given).success)
      throw new ProtocolRefusal(
        'no_such_interrupt',
        `the thread waits for no answer to interrupt ${given.slice(0, 100)}`,
      );
  const ids = answers.map(({ interrupt_id: given }) => given);
  const second = ids.findIndex((given, index) => ids.indexOf(given) < index);
  if (second !== -1)
    throw new ProtocolRefusal(
      'invalid_argument',
      `params.responses[${second}].interrupt_id: there is another answer to ${ids[second] ?? ''}`,
    );
  return Object.fromEntries(answers.map(({ interrupt_id: given, response: answer = null }) => [given, answer]));
}

/** The parts that are neither null nor undefined. */
const nonNull = (parts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined && value !== null));
