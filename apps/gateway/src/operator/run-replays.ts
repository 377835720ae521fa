import { Injectable } from '@nestjs/common';
import { ConflictError, NotFoundError, omitUndefined, type RunRecord, uuidOf } from '@caribou/contracts';
import type { AdminLine, AdmitRequest, ListedLetter, ThreadStore } from '@caribou/state';
import { Dependency } from '../dependency.js';
import { RunAdmission } from '../runs/run-admission.js';
import { StoreDeadline } from '../runs/store/store-deadline.js';

/** Deadline of the store calls of one replay. */
const STORE_MS = 4_500;

type Start = Pick<AdmitRequest, 'kwargs' | 'multitaskStrategy' | 'checkpointId'>;

/** Admits runs with a dead letter again, as new runs with the same request. */
@Injectable()
export class RunReplays {
  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    private readonly admission: RunAdmission,
  ) {}

  /**
   * Admits the run again. Its id is derived from the letter, so that a repeated request finds the run of the first one.
   *
   * @param lineOf the line of the audit, which is written with the admission of this run
   * @throws {ConflictError} saying why it cannot be admitted again
   */
  async start(letter: ListedLetter, lineOf: (runId: string) => AdminLine): Promise<RunRecord> {
    const runId = uuidOf(JSON.stringify(['dead-letter', letter.id]));
    const deadline = new StoreDeadline(STORE_MS);
    const before = await this.findStarted(letter, runId);
    if (before !== null) return before;
    const run = await this.findRun(letter);
    const start = await this.startOf(run, letter);
    const request: AdmitRequest = {
      ...{ userId: letter.userId, threadId: letter.threadId, runId, ...start },
      ...{ assistantId: run.assistant_id, metadata: run.metadata, ifNotExists: 'reject', threadMetadata: {} },
      ...omitUndefined({ webhook: start.kwargs.webhook }),
      decisions: [lineOf(runId)],
    };
    const headers = { traceparent: undefined, apiKey: undefined, onAdmitted: () => undefined };
    try {
      return await this.admission.admit(request, { idempotency: undefined, headers, deadline });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw refused('its thread does not exist any more', letter);
    }
  }

  /** The run that an earlier replay of this letter has started, which may have changed the thread since. */
  private findStarted({ userId, threadId }: ListedLetter, runId: string): Promise<RunRecord | null> {
    return orNull(this.store.getRun({ userId, threadId }, runId));
  }

  private async findRun(letter: ListedLetter): Promise<RunRecord> {
    const { userId, threadId, runId = '' } = letter;
    const run = await orNull(this.store.getRun({ userId, threadId }, runId));
    if (run === null) throw refused('the run does not exist any more', letter);
    if (letter.isLost) throw refused('what was stored of it could not be read', letter);
    if (run.kwargs_expired) throw refused('what was asked is no longer stored', letter);
    return run;
  }

  /** A run whose input is in the thread continues from its last checkpoint, as long as that is the thread's newest. */
  private async startOf(run: RunRecord, letter: ListedLetter): Promise<Start> {
    const thread = { userId: letter.userId, threadId: letter.threadId };
    const { after_seconds: _delay, ...kwargs } = run.kwargs;
    const written = await this.store.checkpointsOfRun(thread, run.run_id);
    if (written === null) {
      const checkpointId = run.fork_checkpoint_id ?? undefined;
      return { kwargs, multitaskStrategy: 'enqueue', ...omitUndefined({ checkpointId }) };
    }
    const record = await orNull(this.store.getThread(thread));
    if (record?.head !== written.last) throw refused('the thread has continued since from its last step', letter);
    const { command: _answers, ...rest } = kwargs;
    return { kwargs: { ...rest, input: null }, multitaskStrategy: 'reject' };
  }
}

const refused = (why: string, { id }: ListedLetter): ConflictError =>
  new ConflictError(`the run cannot be started again: ${why}; drop the letter`, { details: { letterId: id } });

async function orNull<Found>(found: Promise<Found>): Promise<Found | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
