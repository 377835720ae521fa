import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal, type RunRecord } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import type { ApiClient, Frame, OpenStream } from '../support/client.js';
import { clientOf, type GatewayAddress } from '../support/stack.js';
import { type FollowedRun, type Journal, markOf } from './journal.js';
import type { Random } from './random.js';

/** How often a client closes a stream itself, at most. */
const MAX_DROPS = 2;

export interface RetryOptions {
  readonly gateways: () => readonly Gateway[];
  readonly random: Random;
  readonly journal: Journal;
  /** The time limits for repeating one request, and for a stream to its end. */
  readonly patienceMs: number;
}

/** A gateway that may have died. */
export type Gateway = GatewayAddress & { readonly running: boolean };

class Gone extends Error {}

/** A client that repeats failed requests at any gateway, and resumes streams where they broke. */
export class RetryingClient {
  constructor(private readonly options: RetryOptions) {}

  /** A running gateway; requests move to another one when theirs has died. */
  gateway(): ApiClient {
    return clientOf(this.options.random.pick(this.options.gateways().filter(({ running }) => running)));
  }

  /** Repeats a request until a gateway answers it. */
  async ask<T>(what: string, request: (api: ApiClient) => Promise<T>): Promise<T> {
    const attempt = async () => ({ answer: await request(this.gateway()) });
    const { answer } = await waitFor(attempt, { what, timeoutMs: this.options.patienceMs, everyMs: 150 });
    return answer;
  }

  /** Reads a run's stream to its end, over as many connections as needed; records the frames in the run. */
  async follow(run: FollowedRun, path = `/threads/${run.threadId}/runs/${run.runId}/stream`): Promise<void> {
    const { random, journal, patienceMs } = this.options;
    const deadlineMs = performance.now() + patienceMs;
    let drops = random.chance(0.45) ? random.between(1, MAX_DROPS) : 0;
    let after = '-1';
    while (!run.over && performance.now() < deadlineMs) {
      const stream = await this.open(run, path, after);
      if (stream === undefined) break;
      const dropAfter = drops > 0 ? random.between(1, 12) : Infinity;
      drops -= 1;
      await read(stream, { dropAfter, deadlineMs, journal });
      run.segments.push({ after, frames: stream.frames.map(markOf) });
      after = stream.lastId ?? after;
      run.attempts = Math.max(run.attempts, ...stream.frames.map(attemptOf));
      run.errors.push(...stream.frames.flatMap(({ event, data }) => (event === 'error' ? [JSON.stringify(data)] : [])));
      run.over = stream.frames.some(({ event }) => event === 'end');
      if (stream.frames.some(({ event }) => event === 'gap')) await this.waitForEnd(run);
    }
    run.stuck = !run.over;
    journal.progress();
  }

  /** After a gap the stream cannot show the end of the run. */
  private async waitForEnd(run: FollowedRun): Promise<void> {
    await this.ask('the end of a run whose stream had a gap', async (api) => {
      const { status, body } = await api.call<RunRecord>('GET', `/threads/${run.threadId}/runs/${run.runId}`);
      if (status !== 404 && !isTerminal(body.status)) throw new Error(`answered ${status}: ${body.status}`);
      return status;
    });
    run.over = true;
  }

  /** Undefined when the run no longer exists, which ends it. */
  private async open(run: FollowedRun, path: string, after: string): Promise<OpenStream | undefined> {
    try {
      return await this.ask('the stream to open', async (api) => {
        try {
          return { stream: await api.stream('GET', path, undefined, { 'last-event-id': after }) };
        } catch (error) {
          if (error instanceof Error && error.message.includes('answered 404')) return { stream: undefined };
          throw error;
        }
      }).then(({ stream }) => {
        if (stream === undefined) throw new Gone();
        return stream;
      });
    } catch (error) {
      if (error instanceof Gone) run.over = true;
      else this.options.journal.incident(`stream: ${String(error)}`, run);
      return undefined;
    }
  }
}

const attemptOf = ({ event, data }: Frame): number =>
  event === 'metadata' ? ((data as { attempt?: number }).attempt ?? 1) : 1;

interface Reading {
  readonly dropAfter: number;
  readonly deadlineMs: number;
  readonly journal: Journal;
}

/** Reads until the server ends the stream, the client closes it, or the time is over. */
async function read(stream: OpenStream, { dropAfter, deadlineMs, journal }: Reading): Promise<void> {
  const ended = stream.end(Math.max(1, deadlineMs - performance.now())).then(
    () => true,
    () => true,
  );
  let seen = 0;
  for (;;) {
    const isOver = await Promise.race([ended, sleep(50).then(() => false)]);
    if (stream.frames.length > seen) journal.progress();
    seen = stream.frames.length;
    if (isOver || seen >= dropAfter) break;
  }
  await stream.leave();
}
