import {
  NotFoundError,
  type NumberedEvent,
  omitUndefined,
  type RunRecord,
  type RunStatus,
  UnavailableError,
} from '@caribou/contracts';
import { taskRecord } from '@caribou/testing';
import { type Followed, RunFollower } from '../follow/run-follower.js';

export const numbered = (seq: number): NumberedEvent => ({ seq, event: { kind: 'custom', data: seq } });
export const end: NumberedEvent['event'] = { kind: 'end', status: 'success' };
export const range = (first: number, last: number): NumberedEvent[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => numbered(first + index));

const RECORD = taskRecord();
export const record = (status: RunStatus): RunRecord => ({ ...RECORD, status });

/** A log, a bus and a run's record under the control of the test. */
export class ScriptedPorts {
  events: NumberedEvent[] = [];
  status: RunStatus | 'gone' | 'unavailable' = 'running';
  reads = 0;
  recordReads = 0;
  statusReads = 0;
  subscribed = false;
  beforeRead: (() => void) | undefined;
  failing = false;
  beforeFailure: (() => void) | undefined;
  /** Delivers events; they are in the log unless `logged` says less. */
  receive: (events: readonly NumberedEvent[], logged?: number) => void = () => undefined;
  gap: () => void = () => undefined;

  subscribeEvents = async (
    _runId: string,
    listener: { onEvents(events: readonly NumberedEvent[], logged: number): void; onGap(): void },
  ) => {
    this.subscribed = true;
    this.receive = (events, logged = events.at(-1)?.seq ?? 0) => listener.onEvents(events, logged);
    this.gap = () => listener.onGap();
    return await Promise.resolve(() => (this.subscribed = false));
  };

  async runStatus(): Promise<RunStatus | null> {
    this.statusReads += 1;
    if (this.status === 'unavailable') throw new UnavailableError('away');
    return await Promise.resolve(this.status === 'gone' ? null : this.status);
  }

  async getRun(): Promise<RunRecord> {
    this.recordReads += 1;
    if (this.status === 'unavailable') throw new UnavailableError('away');
    if (this.status === 'gone') throw new NotFoundError('no run');
    return await Promise.resolve(record(this.status));
  }

  async read(_user: string, _run: string, { after, limit }: { readonly after: number; readonly limit: number }) {
    this.reads += 1;
    if (this.failing) {
      this.beforeFailure?.();
      throw new UnavailableError('away');
    }
    const found = this.events.filter(({ seq }) => seq > after).slice(0, limit);
    const page = { events: found, firstKept: this.events[0]?.seq ?? 0, lastSeq: this.events.at(-1)?.seq ?? 0 };
    this.beforeRead?.();
    return await Promise.resolve(page);
  }
}

export async function openFollower(
  ports: ScriptedPorts,
  options: {
    readonly after?: number;
    readonly logged?: number;
    readonly checkMs?: number;
    readonly isLogEmpty?: boolean;
    readonly mayBeOver?: boolean;
  } = {},
) {
  const stop = new AbortController();
  const follower = await RunFollower.open(
    { store: ports, log: ports, bus: ports },
    {
      run: record(ports.status === 'success' ? 'success' : 'running'),
      after: options.after ?? 0,
      ...omitUndefined({ logged: options.logged, isLogEmpty: options.isLogEmpty }),
      checkMs: options.checkMs ?? 60_000,
      mayBeOver: options.mayBeOver ?? false,
      signal: stop.signal,
    },
  );
  return { follower, stop };
}

export const seqsOf = (item: Followed): number[] => (item.kind === 'events' ? item.events.map(({ seq }) => seq) : []);

export async function takeSeqs(follower: RunFollower, count: number): Promise<number[]> {
  const seqs: number[] = [];
  while (seqs.length < count) seqs.push(...seqsOf(await follower.next()));
  return seqs;
}
