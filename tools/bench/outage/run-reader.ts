import { createParser } from 'eventsource-parser';

/** A failed connection and an answer other than 200 are tried again after this time. */
const RETRY_MS = 250;
const SILENCE_MS = 30_000;

/** What a client saw of a run, over as many connections as it took. */
export interface SeenRun {
  /** Text of each message that was not discarded, by its id. */
  readonly texts: ReadonlyMap<string, string>;
  /** When pieces of text were read, by `performance.now()`. */
  readonly readAtMs: readonly number[];
  readonly attempt: number;
  readonly isOver: boolean;
  /** Frames of type `gap`: the server says that events are missing. */
  readonly gaps: number;
}

interface Start {
  readonly attempt?: number;
  readonly dropped_message_ids?: readonly string[];
}

interface Chunk {
  readonly id: string;
  readonly type: string;
  readonly content: unknown;
}

/** Reads the `messages` stream of a run to its end; a stream that breaks off is resumed after its last id. */
export class RunReader implements SeenRun {
  readonly texts = new Map<string, string>();
  readonly readAtMs: number[] = [];
  attempt = 1;
  isOver = false;
  gaps = 0;
  private lastId = '-1';

  /** @param url of the run's stream */
  constructor(private readonly url: string) {}

  /** Reads until the run's end, or until `signal` aborts. Never rejects. */
  async read(signal: AbortSignal): Promise<void> {
    while (!this.isOver && !signal.aborted) {
      await this.readOnce(signal).catch(() => undefined);
      if (!this.isOver) await new Promise((done) => setTimeout(done, RETRY_MS));
    }
  }

  private async readOnce(signal: AbortSignal): Promise<void> {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const response = await fetch(this.url, {
        headers: { 'last-event-id': this.lastId },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      if (response.status !== 200 || response.body === null) {
        await response.body?.cancel();
        return;
      }
      const parser = createParser({
        onEvent: ({ event, data, id }) => {
          this.take(event ?? 'message', data);
          if (id !== undefined) this.lastId = id;
        },
      });
      const decoder = new TextDecoder();
      for await (const bytes of response.body) {
        timer.refresh();
        parser.feed(decoder.decode(bytes, { stream: true }));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  private take(event: string, data: string): void {
    if (event === 'end') this.isOver = true;
    else if (event === 'gap') this.gaps += 1;
    else if (event === 'metadata') this.takeStart(JSON.parse(data) as Start);
    else if (event === 'messages') this.takeText(JSON.parse(data) as readonly [Chunk]);
  }

  private takeStart(start: Start): void {
    this.attempt = Math.max(this.attempt, start.attempt ?? 1);
    for (const id of start.dropped_message_ids ?? []) this.texts.delete(id);
  }

  private takeText([chunk]: readonly [Chunk]): void {
    this.readAtMs.push(performance.now());
    if (chunk.type !== 'tool' && typeof chunk.content === 'string')
      this.texts.set(chunk.id, (this.texts.get(chunk.id) ?? '') + chunk.content);
  }
}
