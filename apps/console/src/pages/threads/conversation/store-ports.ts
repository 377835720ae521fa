import type { FeedPageReply, runRoutes, ThreadReply } from '@caribou/contracts';
import type { EndpointInput } from '../../../api/endpoint.js';
import { cancelRun, createRun, getMessages, getThread, listRuns } from '../../../api/threads.js';
import type { Frame } from '../state/frames.js';

export interface KnownRun {
  readonly run_id: string;
  readonly status: string;
}

export type RunBody = EndpointInput<typeof runRoutes.create>['body'];

/** What a conversation asks the server for. */
export interface StorePorts {
  readonly getThread: (threadId: string) => Promise<Pick<ThreadReply, 'values' | 'status' | 'interrupts'>>;
  readonly getPage: (threadId: string, before: number | undefined) => Promise<FeedPageReply>;
  /** Newest first. */
  readonly listRuns: (threadId: string) => Promise<readonly KnownRun[]>;
  /** The same key is the same run, however often it is asked for. */
  readonly createRun: (threadId: string, body: RunBody, key: string) => Promise<{ readonly run_id: string }>;
  readonly cancelRun: (threadId: string, runId: string) => Promise<unknown>;
  readonly join: (
    run: { readonly threadId: string; readonly runId: string },
    after: string | undefined,
    signal: AbortSignal,
  ) => AsyncIterable<Frame>;
  /** Calls back before the next picture is drawn. */
  readonly schedule: (callback: () => void) => void;
}

const PAGE_MESSAGES = 50;
const NEWEST_RUNS = 20;

/** The client of streams is loaded with the first run. */
async function* join(...given: Parameters<StorePorts['join']>): AsyncGenerator<Frame> {
  const { joinRun } = await import('../stream/join-run.js');
  yield* joinRun(...given);
}

/** Time between two pictures of an answer that streams: the page has the rest of it for what the person does. */
const PICTURE_MS = 40;
/** Pictures are not drawn in a hidden page, which is updated all the same. */
const HIDDEN_MS = 250;

function schedule(callback: () => void): void {
  let isDone = false;
  const once = (): void => {
    if (isDone) return;
    isDone = true;
    callback();
  };
  setTimeout(() => requestAnimationFrame(once), PICTURE_MS);
  setTimeout(once, HIDDEN_MS);
}

export const serverPorts: StorePorts = {
  getThread: (threadId) => getThread({ params: { thread_id: threadId } }),
  getPage: (threadId, before) =>
    getMessages({
      params: { thread_id: threadId },
      query: { limit: PAGE_MESSAGES, ...(before === undefined ? {} : { before_seq: before }) },
    }),
  listRuns: async (threadId) => {
    const query = { limit: NEWEST_RUNS, select: ['run_id', 'status'] };
    const runs = await listRuns({ params: { thread_id: threadId }, query });
    return runs.flatMap(({ run_id, status }) =>
      run_id === undefined || status === undefined ? [] : [{ run_id, status }],
    );
  },
  createRun: (threadId, body, key) =>
    createRun({ params: { thread_id: threadId }, body, headers: { 'idempotency-key': key } }),
  cancelRun: (threadId, runId) => cancelRun({ params: { thread_id: threadId, run_id: runId }, query: { wait: '0' } }),
  join,
  schedule,
};
