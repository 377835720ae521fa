import { createHash } from 'node:crypto';

const MAX_RECORDS = 1_000;
const MAX_RECORD_BYTES = 64 * 1024 * 1024;
const MAX_KEYS = 10_000;

/** The record of one chat completion request, for tests that read it over HTTP. */
export interface RequestRecord {
  id: number;
  startedAt: string;
  body: unknown;
  /** HTTP status of the answer, once it was sent. */
  status: number | null;
  /** Deltas written so far. */
  deltas: number;
  /** Whether the answer was written to its end (an error or a scripted cut is an end too). */
  finished: boolean;
  /** Whether the client disconnected before that. */
  closedByClient: boolean;
}

export interface LiveRecord extends Omit<RequestRecord, 'body'> {
  raw: string;
}

interface Waiter {
  name: string;
  requestId: number;
  open: () => void;
}

/** Holds, counters and the ring of requests of one demo model; everything in it is bounded. */
export class Control {
  private readonly records: LiveRecord[] = [];
  private recordBytes = 0;
  private nextId = 1;
  private readonly counters = new Map<string, number>();
  private readonly released = new Set<string>();
  private readonly waiting = new Set<Waiter>();

  /** Starts the record of a request; the oldest are dropped over 1000 records or 64 MiB. */
  record(raw: string): LiveRecord {
    const record: LiveRecord = {
      id: this.nextId++,
      startedAt: new Date().toISOString(),
      raw,
      status: null,
      deltas: 0,
      finished: false,
      closedByClient: false,
    };
    this.records.push(record);
    this.recordBytes += raw.length;
    while (this.records.length > 1 && (this.records.length > MAX_RECORDS || this.recordBytes > MAX_RECORD_BYTES)) {
      this.recordBytes -= this.records.shift()?.raw.length ?? 0;
    }
    return record;
  }

  /** The stored records, oldest first; `contains` filters by a substring of the request body. */
  requests(contains = ''): RequestRecord[] {
    return this.records.filter((record) => record.raw.includes(contains)).map(publicRecord);
  }

  /** How often this was called before with the same text and place; above 10,000 the oldest keys are removed. */
  countUp(text: string, place: string): number {
    const key = `${createHash('sha256').update(text).digest('base64')}:${place}`;
    const seen = this.counters.get(key) ?? 0;
    this.counters.delete(key);
    this.counters.set(key, seen + 1);
    if (this.counters.size > MAX_KEYS) removeOldest(this.counters.keys(), (oldest) => this.counters.delete(oldest));
    return seen;
  }

  /** Resolves when the hold of that name is released, at once if it already was, and when `signal` aborts. */
  async hold(name: string, requestId: number, signal: AbortSignal): Promise<void> {
    if (this.released.has(name) || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const waiter: Waiter = { name, requestId, open: resolve };
      this.waiting.add(waiter);
      signal.addEventListener(
        'abort',
        () => {
          this.waiting.delete(waiter);
          resolve();
        },
        { once: true },
      );
    });
  }

  /** Opens a hold for current and later calls; returns how many were waiting. */
  release(name: string): number {
    this.released.add(name);
    if (this.released.size > MAX_KEYS) removeOldest(this.released, (oldest) => this.released.delete(oldest));
    return this.open((waiter) => waiter.name === name);
  }

  /** The holds being waited on, oldest first. */
  listHolds(): { name: string; request_id: number }[] {
    return [...this.waiting].map(({ name, requestId }) => ({ name, request_id: requestId }));
  }

  /** Removes records, counters and releases, and opens every hold. */
  reset(): void {
    this.records.length = 0;
    this.recordBytes = 0;
    this.counters.clear();
    this.released.clear();
    this.open(() => true);
  }

  private open(matches: (waiter: Waiter) => boolean): number {
    const opened = [...this.waiting].filter(matches);
    for (const waiter of opened) {
      this.waiting.delete(waiter);
      waiter.open();
    }
    return opened.length;
  }
}

function publicRecord({ raw, ...rest }: LiveRecord): RequestRecord {
  return { ...rest, body: parseOrRaw(raw) };
}

function parseOrRaw(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch (cause) {
    if (cause instanceof SyntaxError) return raw;
    throw cause;
  }
}

function removeOldest(keys: Iterable<string>, remove: (key: string) => void): void {
  for (const oldest of keys) {
    remove(oldest);
    return;
  }
}
