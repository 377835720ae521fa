import { setTimeout as delay } from 'node:timers/promises';
import { NotFoundError, type RunRecord, type StreamMode, type ThreadStreamMode } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { retryWhileUnavailable } from '@caribou/runs';
import type { AdmittedRun, ThreadStore } from '@caribou/state';
import { parsePosition } from './projections/position.js';
import { type FrameWriter, type RunStreamPorts, streamRun } from './run-stream.js';
import { DONE, threadFrameId, type ThreadPosition } from './thread-position.js';

/**
 * One client's event stream of one thread.
 *
 * T1 Runs are shown in the order of their admission, which is that of their execution, each to its end.
 * T2 Ids of frames contain the run, the position in it and the newest checkpoint that was shown: a client that resumes, at
 *    this gateway or another, gets the rest.
 * T3 `run_done` follows the last frame of every run, with its status; null for a run that was rolled back or deleted.
 * T4 Client updates of the state happen between runs only, so `state_update` needs to look for them only there.
 * T5 `end` is written when the thread no longer exists.
 */
export interface ThreadStreamRequest {
  readonly thread: ThreadKey;
  readonly shown: ReadonlySet<ThreadStreamMode>;
  readonly from: ThreadPosition;
  readonly checkMs: number;
}

export interface ThreadStreamPorts extends Omit<RunStreamPorts, 'store'> {
  readonly store: ThreadStore;
}

/** Interval at which the store is asked for new runs and updates. */
const POLL_MS = 500;
/** Runs read in one round trip. */
const PAGE = 50;

export class ThreadStream {
  private position: ThreadPosition;

  constructor(
    private readonly ports: ThreadStreamPorts,
    private readonly request: ThreadStreamRequest,
    private readonly writer: FrameWriter,
  ) {
    this.position = request.from;
  }

  /** Writes the stream until the thread is deleted. @throws {ResponseGone} when the client left or the gateway stops */
  async run(): Promise<void> {
    try {
      await this.resume();
      for (;;) {
        const runs = await this.read((store) => store.runsAfter(this.request.thread, this.position.admittedUs, PAGE));
        for (const run of runs) await this.showRun(run);
        if (runs.length > 0) continue;
        await this.showUpdate();
        await delay(POLL_MS, undefined, { signal: this.writer.signal, ref: false }).catch(() => undefined);
        this.writer.signal.throwIfAborted();
      }
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      await this.writer.write('end', 'null', null);
      await this.writer.end();
    }
  }

  /** Shows the rest of the run that the client saw last. */
  private async resume(): Promise<void> {
    const { runId, admittedUs, inRun } = this.position;
    if (runId !== '' && inRun !== DONE) await this.showRun({ runId, admittedUs }, inRun);
  }

  private async showRun({ runId, admittedUs }: AdmittedRun, after = ''): Promise<void> {
    this.position = { ...this.position, runId, admittedUs, inRun: after };
    const run = await this.find(runId);
    if (run !== null) {
      const request = {
        run,
        modes: this.modesOf(run),
        from: parsePosition(after === '' ? undefined : after),
        checkMs: this.request.checkMs,
      };
      await streamRun(this.ports, request, this.framesOf(run));
    }
    await this.writeDone(runId);
    await this.showUpdate();
  }

  private async writeDone(runId: string): Promise<void> {
    const { thread, shown } = this.request;
    this.position = { ...this.position, inRun: DONE };
    if (!shown.has('run_modes') && !shown.has('lifecycle')) return;
    const status = await this.read((store) => store.runStatus(thread, runId));
    const data = { run_id: runId, thread_id: thread.threadId, status };
    await this.writer.write('run_done', JSON.stringify(data), threadFrameId(this.position));
    await this.writer.flush();
  }

  /** Shows the newest state if a client has written it. */
  private async showUpdate(): Promise<void> {
    const { thread, shown, checkMs } = this.request;
    if (!shown.has('state_update')) return;
    const { head } = await this.read((store) => store.getThread(thread));
    if (head === null || head === this.position.head) return;
    const view = await this.read((store) => store.checkpoint(thread, head).catch(ignoreNotFound));
    this.position = { ...this.position, head };
    if (view === null || view.metadata.source !== 'update') return;
    const load = (): Promise<string | null> => this.ports.values.text(thread, head);
    const text = await retryWhileUnavailable(load, { checkMs, signal: this.writer.signal });
    if (text === null) return;
    await this.writer.write('state_update', text, threadFrameId(this.position));
    await this.writer.flush();
  }

  private modesOf(run: RunRecord): readonly StreamMode[] {
    const { shown } = this.request;
    const ofRun = shown.has('run_modes') ? run.kwargs.stream_mode : [];
    return [...new Set<StreamMode>([...ofRun, ...(shown.has('state_update') ? (['values'] as const) : [])])];
  }

  /** A writer of the run's frames, which selects and numbers them as frames of the thread. */
  private framesOf(run: RunRecord): FrameWriter {
    const { writer } = this;
    return {
      signal: writer.signal,
      pauseWhenSlow: (source) => writer.pauseWhenSlow(source),
      flush: () => writer.flush(),
      end: () => writer.flush(),
      write: async (event, data, id) => {
        if (id !== null) this.position = { ...this.position, inRun: id };
        for (const name of this.namesOf(event, run))
          await writer.write(name, data, id === null ? null : threadFrameId(this.position));
      },
    };
  }

  /** The events of the thread's stream that show an event of the run's. */
  private namesOf(event: string, run: RunRecord): readonly string[] {
    const { shown } = this.request;
    if (event === 'end') return [];
    if (event === 'metadata') return shown.has('run_modes') || shown.has('lifecycle') ? [event] : [];
    const names: string[] = [];
    const ofRun = shown.has('run_modes') && (event !== 'values' || run.kwargs.stream_mode.includes('values'));
    if (ofRun) names.push(event);
    if (event === 'values' && shown.has('state_update')) names.push('state_update');
    return names;
  }

  private async find(runId: string): Promise<RunRecord | null> {
    return await this.read((store) => store.getRun(this.request.thread, runId).catch(ignoreNotFound));
  }

  private read<Value>(read: (store: ThreadStore) => Promise<Value>): Promise<Value> {
    const { checkMs } = this.request;
    return retryWhileUnavailable(() => read(this.ports.store), { checkMs, signal: this.writer.signal });
  }
}

function ignoreNotFound(error: unknown): null {
  if (error instanceof NotFoundError) return null;
  throw error;
}
