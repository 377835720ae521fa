import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { inParallel } from '../sample.js';
import { newThread } from '../turns.js';
import { RunReader, type SeenRun } from './run-reader.js';

export interface TurnLoadOptions {
  /** Base URL of thread routes. */
  readonly apiUrl: string;
  /** Turns under way at once, each on a thread of its own. */
  readonly lanes: number;
  readonly tokens: number;
  /** Milliseconds between two tokens. */
  readonly paceMs: number;
  /** Every n-th lane calls a tool first. */
  readonly toolEvery: number;
  /** Longest wait for runs under way once the load was stopped. */
  readonly drainMs: number;
}

/** A run that the server has accepted. */
export interface AcceptedRun {
  readonly threadId: string;
  readonly runId: string;
  /** A text that no other turn's request to the model has. */
  readonly mark: string;
  /** Model calls that the turn needs. */
  readonly neededCalls: number;
  readonly acceptedAtMs: number;
  readonly seen: SeenRun;
  /** When the client saw the end, by `performance.now()`; undefined if it did not. */
  readonly endedAtMs: number | undefined;
  /** Status that the API reports after the load. */
  readonly status: string;
}

const RETRY_MS = 500;
const REQUEST_MS = 15_000;
const TERMINAL = ['success', 'error', 'interrupted', 'timeout'];

type LiveRun = Omit<AcceptedRun, 'endedAtMs' | 'status'> & { endedAtMs: number | undefined; status: string };

/** Turns that clients start one after the other in parallel lanes, and read, while servers fail. */
export class TurnLoad {
  readonly runs: LiveRun[] = [];
  /** Answers to the start of a run that were not 2xx, by status; 0: no answer. */
  readonly refusals = new Map<number, number>();
  private readonly stopping = new AbortController();
  private readonly draining = new AbortController();
  private work: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: TurnLoadOptions) {}

  /** Creates the threads, then starts the lanes. */
  async start(): Promise<void> {
    const { lanes, apiUrl } = this.options;
    const threads = await inParallel(lanes, 16, () => newThread(apiUrl));
    this.work = Promise.all(threads.map((threadId, lane) => this.runLane(threadId, lane)));
  }

  /** Runs that were accepted and have not ended for their clients. */
  underWay(): readonly AcceptedRun[] {
    return this.runs.filter(({ endedAtMs }) => endedAtMs === undefined);
  }

  /** Starts no further turns, waits for those under way, and asks for the status of each run. */
  async stop(): Promise<readonly AcceptedRun[]> {
    this.stopping.abort();
    const timer = setTimeout(() => this.draining.abort(), this.options.drainMs);
    await this.work;
    clearTimeout(timer);
    await inParallel(this.runs.length, 8, async (index) => {
      const run = this.runs[index];
      if (run !== undefined) run.status = await this.statusOf(run);
    });
    return this.runs;
  }

  private async runLane(threadId: string, lane: number): Promise<void> {
    const { tokens, paceMs, lanes } = this.options;
    // At any time some turns begin, some call tools, most stream, and some end.
    await sleep((lane * tokens * paceMs) / lanes);
    while (!this.stopping.signal.aborted) {
      const run = await this.startRun(threadId, lane % this.options.toolEvery === 0);
      if (run === undefined) return;
      await run.seen.read(this.draining.signal);
      if (run.seen.isOver) run.endedAtMs = performance.now();
      else return;
    }
  }

  /** Repeats the request under one key until it is accepted; undefined when the load is stopped before that. */
  private async startRun(threadId: string, hasTool: boolean): Promise<(LiveRun & { seen: RunReader }) | undefined> {
    const { apiUrl, tokens, paceMs } = this.options;
    const mark = randomUUID();
    const tool = hasTool
      ? `#tool bash ${JSON.stringify({ description: 'a bench', command: 'sleep 0.5; echo ran' })}\n`
      : '';
    const body = {
      assistant_id: 'lead_agent',
      input: { messages: [{ type: 'human', content: `${mark}\n${tool}#tokens ${tokens} ${paceMs}` }] },
      stream_mode: ['messages-tuple'],
    };
    while (!this.stopping.signal.aborted) {
      const runId = await this.post(`${apiUrl}/threads/${threadId}/runs`, body, mark);
      if (runId !== undefined) {
        const seen = new RunReader(`${apiUrl}/threads/${threadId}/runs/${runId}/stream?stream_mode=messages-tuple`);
        const run = {
          ...{ threadId, runId, mark, neededCalls: hasTool ? 2 : 1, acceptedAtMs: performance.now() },
          ...{ seen, endedAtMs: undefined, status: 'unknown' },
        };
        this.runs.push(run);
        return run;
      }
      await sleep(RETRY_MS);
    }
    return undefined;
  }

  private async post(url: string, body: unknown, key: string): Promise<string | undefined> {
    let status = 0;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      ({ status } = response);
      const answer = (await response.json()) as { readonly run_id?: string };
      if (response.ok && answer.run_id !== undefined) return answer.run_id;
    } catch {
      // Counted as no answer; the same key is used again.
    }
    this.refusals.set(status, (this.refusals.get(status) ?? 0) + 1);
    return undefined;
  }

  private async statusOf({ threadId, runId }: AcceptedRun): Promise<string> {
    try {
      const url = `${this.options.apiUrl}/threads/${threadId}/runs/${runId}`;
      const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) });
      return String(((await response.json()) as { readonly status?: string }).status);
    } catch {
      return 'unknown';
    }
  }
}

export const isTerminal = (status: string): boolean => TERMINAL.includes(status);
