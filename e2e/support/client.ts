import { createParser } from 'eventsource-parser';

/** One SSE frame as a client sees it. */
export interface Frame {
  readonly event: string;
  readonly data: unknown;
  readonly id: string | undefined;
}

/** The position of a frame in its run: what follows `~` says how much of it was in the log when this stream got it. */
export const positionOf = ({ id }: Pick<Frame, 'id'>): string | undefined => id?.split('~')[0];

/** A stream being read: frames as they come, and its end. */
export class OpenStream {
  readonly frames: Frame[] = [];
  private closed = false;
  private failure: unknown;
  private waiters: (() => void)[] = [];
  private readonly reading: Promise<void>;

  constructor(
    readonly response: Response,
    private readonly controller: AbortController,
  ) {
    this.reading = this.read();
  }

  /** Resolves with the first matching frame, received already or later. */
  async waitFor(what: string, fits: (frame: Frame) => boolean, timeoutMs = 30_000): Promise<Frame> {
    const deadline = Date.now() + timeoutMs;
    for (let index = 0; ; ) {
      for (; index < this.frames.length; index += 1) {
        const frame = this.frames[index];
        if (frame !== undefined && fits(frame)) return frame;
      }
      if (this.closed) throw new Error(`stream closed before ${what}: ${this.describe()}`, { cause: this.failure });
      await this.waitForChange(deadline - Date.now(), what);
    }
  }

  /** Resolves with all frames once the server has closed the stream. */
  async end(timeoutMs = 60_000): Promise<readonly Frame[]> {
    const deadline = Date.now() + timeoutMs;
    while (!this.closed) await this.waitForChange(deadline - Date.now(), 'the end of the stream');
    return this.frames;
  }

  /** Whether the connection broke instead of ending cleanly. */
  get broke(): boolean {
    return this.failure !== undefined;
  }

  get lastId(): string | undefined {
    return this.frames.findLast((frame) => frame.id !== undefined)?.id;
  }

  /** Disconnects the client. */
  async leave(): Promise<void> {
    this.controller.abort();
    await this.reading;
  }

  private async read(): Promise<void> {
    const parser = createParser({
      onEvent: ({ event = 'message', data, id }) => {
        this.frames.push({ event, data: data === '' ? undefined : JSON.parse(data), id });
        this.wake();
      },
    });
    const decoder = new TextDecoder();
    try {
      if (this.response.body === null) return;
      for await (const bytes of this.response.body) parser.feed(decoder.decode(bytes, { stream: true }));
    } catch (error) {
      this.failure = error;
    } finally {
      this.closed = true;
      this.wake();
    }
  }

  private waitForChange(timeoutMs: number, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no ${what} in time: ${this.describe()}`)),
        Math.max(0, timeoutMs),
      );
      this.waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }

  private describe(): string {
    return JSON.stringify(this.frames.map((frame) => frame.event).slice(-40));
  }
}

export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** A plain HTTP client of one gateway; `base` ends before `/threads`. */
export class ApiClient {
  constructor(
    readonly base: string,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  async call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const response = await fetch(this.base + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...this.headers, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text.trim() === '' ? undefined : JSON.parse(text)) as Body,
    };
  }

  /** Opens a stream; rejects when the answer is not 200. */
  async stream(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<OpenStream> {
    const controller = new AbortController();
    const response = await fetch(this.base + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...this.headers, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: controller.signal,
    });
    if (response.status !== 200)
      throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return new OpenStream(response, controller);
  }

  async newThread(): Promise<string> {
    const { body } = await this.call<{ thread_id: string }>('POST', '/threads', { metadata: {} });
    return body.thread_id;
  }

  /** Starts a run with a script of the demo model and streams it. */
  run(threadId: string, script: string, options: Record<string, unknown> = {}): Promise<OpenStream> {
    return this.stream('POST', `/threads/${threadId}/runs/stream`, runBody(script, options));
  }
}

export const ALL_MODES = ['values', 'messages-tuple', 'updates', 'custom'];

export function runBody(script: string, options: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    assistant_id: 'lead_agent',
    input: { messages: [{ type: 'human', content: script }] },
    stream_mode: ALL_MODES,
    ...options,
  };
}

/** Run id out of `Content-Location`. */
export function runIdOf(stream: OpenStream): string {
  const id = /\/runs\/([^/]+)$/.exec(stream.response.headers.get('content-location') ?? '')?.[1];
  if (id === undefined) throw new Error('no Content-Location');
  return id;
}

export interface WireMessage {
  readonly id: string;
  readonly type: string;
  readonly content: unknown;
  readonly name?: string | null;
  readonly status?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly name: string }[];
  readonly additional_kwargs?: Readonly<Record<string, unknown>>;
}

/** Messages of the last `values` frame. */
export function lastValues(frames: readonly Frame[]): readonly WireMessage[] {
  const values = frames.findLast((frame) => frame.event === 'values')?.data as { messages?: WireMessage[] } | undefined;
  return values?.messages ?? [];
}

/**
 * What a client that concatenates `messages` deltas by id displays: text per message id, minus the ids that
 * `metadata` frames declared dropped.
 */
export function concatenateMessages(frames: readonly Frame[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const frame of frames) {
    if (frame.event === 'metadata') {
      for (const id of (frame.data as { dropped_message_ids?: string[] }).dropped_message_ids ?? []) texts.delete(id);
    }
    if (frame.event !== 'messages') continue;
    const [chunk] = frame.data as [WireMessage];
    if (chunk.type === 'tool') texts.set(chunk.id, String(chunk.content));
    else texts.set(chunk.id, (texts.get(chunk.id) ?? '') + String(chunk.content));
  }
  return texts;
}
