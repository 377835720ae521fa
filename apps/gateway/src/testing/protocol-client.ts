import { waitFor } from '@caribou/testing';
import { type ClientOptions, WebSocket } from 'ws';

/** An event of the protocol as a client gets it. */
export interface WireEvent {
  readonly type: 'event';
  readonly method: string;
  readonly event_id: string;
  readonly seq: number;
  readonly params: {
    readonly namespace: readonly string[];
    readonly timestamp: number;
    readonly node?: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
}

export interface WireReply {
  readonly type: 'success' | 'error';
  readonly id: number | null;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: string;
  readonly message?: string;
  readonly meta?: { readonly applied_through_seq?: number };
}

/** The lifecycle of the run itself among events. */
export const rootLifecycle = (events: readonly WireEvent[]): unknown[] =>
  events.flatMap(({ method, params }) =>
    method === 'lifecycle' && params.namespace.length === 0 ? [params.data['event']] : [],
  );

/** A stream of server-sent events that is being read. */
export class EventReader {
  readonly events: WireEvent[] = [];
  /** Ids of the frames, in order. */
  readonly ids: string[] = [];
  ended = false;
  private readonly controller = new AbortController();

  static async open(url: string, body: object | undefined, headers: Record<string, string> = {}): Promise<EventReader> {
    const reader = new EventReader();
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: reader.controller.signal,
    });
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    void reader.read(response);
    return reader;
  }

  /** Waits until the lifecycle of so many runs has ended. */
  async untilEnded(runs = 1): Promise<readonly WireEvent[]> {
    const ends = (): number => rootLifecycle(this.events).filter((event) => event !== 'running').length;
    await waitFor(() => ends() >= runs, { what: `the end of ${runs} runs` });
    return this.events;
  }

  close(): void {
    this.controller.abort();
  }

  private async read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    try {
      for await (const bytes of response.body ?? []) {
        text += decoder.decode(bytes, { stream: true });
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) this.take(block);
      }
    } catch (error) {
      if (!this.controller.signal.aborted && !(error instanceof TypeError)) throw error;
    } finally {
      this.ended = true;
    }
  }

  private take(block: string): void {
    const lines = block.split('\n');
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const data = field('data');
    if (data === undefined) return;
    this.ids.push(field('id') ?? '');
    this.events.push(JSON.parse(data) as WireEvent);
  }
}

/** A client of the protocol on a WebSocket. */
export class SocketClient {
  readonly events: WireEvent[] = [];
  readonly replies: WireReply[] = [];
  closedWith: number | undefined;
  private lastId = 0;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString('utf8')) as WireEvent | WireReply;
      if (message.type === 'event') this.events.push(message);
      else this.replies.push(message);
    });
    socket.on('close', (code) => {
      this.closedWith = code;
    });
    socket.on('error', () => undefined);
  }

  /** @throws {Error} whose message has the status of a refusal */
  static async open(url: string, options: ClientOptions = {}): Promise<SocketClient> {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), options);
    const client = new SocketClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return client;
  }

  async send(method: string, params: object = {}): Promise<WireReply> {
    this.lastId += 1;
    const id = this.lastId;
    this.socket.send(JSON.stringify({ id, method, params }));
    await waitFor(() => this.replies.some((reply) => reply.id === id), { what: `the answer to ${method}` });
    const reply = this.replies.find((one) => one.id === id);
    if (reply === undefined) throw new Error(`no answer to ${method}`);
    return reply;
  }

  async untilEnded(runs = 1): Promise<readonly WireEvent[]> {
    const ends = (): number => rootLifecycle(this.events).filter((event) => event !== 'running').length;
    await waitFor(() => ends() >= runs, { what: `the end of ${runs} runs` });
    return this.events;
  }

  close(): void {
    this.socket.terminate();
  }
}
