import {
  CheckpointId,
  type CommandParams,
  ConflictError,
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
import { RunsService, type StartHeaders } from '../../runs/runs.service.js';
import { ProtocolRefusal } from './protocol-refusal.js';
import { noThreadInput, type ThreadRun } from './thread-input.js';

/** Commands that start or continue runs. */
@Injectable()
export class RunCommands {
  private readonly input = noThreadInput;

  constructor(
    @Dependency('threadStore') private readonly store: Pick<ThreadStore, 'getThread'>,
    private readonly runs: RunsService,
  ) {}

  /**
   * Starts a run, on a thread that is created if needed. While a run is under way and no strategy is named, the input is for
   * that run.
   */
  async start(thread: ThreadKey, params: CommandParams<'run.start'>, headers: StartHeaders): Promise<ThreadRun> {
    const { multitaskStrategy, langsmith_tracer: tracer, ...given } = params;
    if (tracer !== undefined && tracer !== null)
      throw new ProtocolRefusal(
        'not_supported',
        'langsmith_tracer: traces are sent where the operator of the server says',
      );
    const strategy = given.multitask_strategy ?? multitaskStrategy;
    const body = parse(
      RunCreate,
      { if_not_exists: 'create', ...given, ...checkpointOf(given.config), multitask_strategy: strategy },
      'params',
    );
    try {
      return await this.admit(thread, body, headers);
    } catch (error) {
      const isForRunUnderWay = error instanceof ConflictError && (strategy === undefined || strategy === null);
      if (!isForRunUnderWay) throw error;
      return await this.input.injectInput(thread, body);
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

  respond(thread: ThreadKey, params: CommandParams<'input.respond'>, headers: StartHeaders) {
    return this.input.respond(thread, params, headers);
  }

  inject(thread: ThreadKey, params: CommandParams<'input.inject'>): Promise<void> {
    return this.input.inject(thread, params);
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

  /** The assistant that the thread was started with. */
  private async assistantOf(thread: ThreadKey): Promise<string> {
    const { metadata } = await this.store.getThread(thread);
    const id = metadata['assistant_id'];
    return typeof id === 'string' ? id : LEAD_AGENT;
  }
}

const noCheckpoint = (id: string): ProtocolRefusal =>
  new ProtocolRefusal('no_such_checkpoint', `Checkpoint ${id.slice(0, 100)} does not exist`);

/** The checkpoint that clients name in the config of a run. */
function checkpointOf(config: unknown): { readonly checkpoint_id?: unknown } {
  const configurable = isRecord(config) ? config['configurable'] : undefined;
  const id = isRecord(configurable) ? configurable['checkpoint_id'] : undefined;
  return id === undefined || id === null ? {} : { checkpoint_id: id };
}
