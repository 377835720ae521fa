import { omitUndefined } from '@caribou/contracts';
import { z } from 'zod';
import { type Frame, OpenStream, runIdOf } from '../../support/client.js';
import { frames, History, Search } from './must-fields.js';

/** What a page sends with a message; `files` come from an upload. */
interface Sent {
  readonly text: string;
  readonly files?: readonly object[];
  readonly context?: object;
}

/** The stream of a run whose id the page knows. */
export interface PageRun {
  readonly runId: string;
  readonly stream: OpenStream;
}

/**
 * A browser tab with one of DeerFlow's pages: it sends their requests and checks each answer for what they need. It
 * never signs in, and no answer may require that.
 */
export class PageSession {
  /** The head that this tab saw last in each thread. */
  private readonly heads = new Map<string, unknown>();

  constructor(
    private readonly origin: string,
    private readonly modes: readonly string[],
  ) {}

  /** A JSON request that must succeed with an answer of this shape. */
  async ask<Shape extends z.ZodType>(
    shape: Shape,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<z.output<Shape>> {
    const response = await this.send(method, path, body);
    const text = await response.text();
    const where = `${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`;
    if (response.status !== 200) throw new Error(where);
    if (response.headers.get('content-type')?.startsWith('application/json') !== true)
      throw new Error(`type: ${where}`);
    const parsed = shape.safeParse(JSON.parse(text));
    if (!parsed.success) throw new Error(`${z.prettifyError(parsed.error)}\n${where}`);
    return parsed.data;
  }

  /** A request whose status alone counts. */
  async status(method: string, path: string, body?: unknown): Promise<number> {
    const response = await this.send(method, path, body);
    await response.arrayBuffer();
    return response.status;
  }

  async send(method: string, path: string, body?: unknown): Promise<Response> {
    const isForm = body instanceof FormData;
    const response = await fetch(this.origin + path, {
      method,
      ...(body === undefined || isForm ? {} : { headers: { 'content-type': 'application/json' } }),
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    if (response.status === 401) throw new Error(`${method} ${path} asks the page to sign in`);
    return response;
  }

  /** The sidebar: titles by thread, newest first. */
  async sidebar(more: object = {}): Promise<readonly (readonly [string, string | undefined])[]> {
    const select = ['thread_id', 'updated_at', 'values'];
    const asked = { limit: 50, offset: 0, sort_by: 'updated_at', sort_order: 'desc', select, ...more };
    const found = await this.ask(Search, 'POST', '/api/langgraph/threads/search', asked);
    return found.map(({ thread_id, values }) => [thread_id, values?.title]);
  }

  /** Loads a thread as the page does; the head is stored for the next message. */
  async history(threadId: string) {
    const [state] = await this.ask(History, 'POST', `/api/langgraph/threads/${threadId}/history`, { limit: 1 });
    if (state !== undefined) this.heads.set(threadId, { ...state.checkpoint, checkpoint_map: null });
    return state;
  }

  /** Sends a user message, from the head that this tab saw last. */
  say(threadId: string, { text, files, context = {} }: Sent): Promise<PageRun> {
    const checkpoint = this.heads.get(threadId);
    const additional_kwargs = omitUndefined({ files });
    return this.run(threadId, {
      input: { messages: [{ type: 'human', content: [{ type: 'text', text }], additional_kwargs }] },
      ...omitUndefined({ checkpoint }),
      context,
    });
  }

  async run(threadId: string, { context, ...body }: Record<string, unknown>): Promise<PageRun> {
    const stream = await this.open('POST', `/api/langgraph/threads/${threadId}/runs/stream`, {
      assistant_id: 'lead_agent',
      config: { recursion_limit: 1000 },
      on_disconnect: 'continue',
      stream_mode: this.modes,
      context: {
        thread_id: threadId,
        model_name: 'caribou-demo',
        mode: 'flash',
        thinking_enabled: false,
        ...Object(context),
      },
      ...body,
    });
    return { runId: runIdOf(stream), stream };
  }

  /** A run that was under way when the tab was loaded, from its first event. */
  async join(threadId: string, runId: string): Promise<OpenStream> {
    return this.open('GET', `/api/langgraph/threads/${threadId}/runs/${runId}/stream?cancel_on_disconnect=0`);
  }

  private async open(method: string, path: string, body?: unknown): Promise<OpenStream> {
    const controller = new AbortController();
    const response = await fetch(this.origin + path, {
      method,
      headers: body === undefined ? { 'last-event-id': '-1' } : { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: controller.signal,
    });
    if (response.status !== 200)
      throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    return new OpenStream(response, controller);
  }
}

/** Reads the whole stream and checks each frame for what the pages read of it. */
export async function checkedEnd(stream: OpenStream): Promise<readonly Frame[]> {
  const all = await stream.end();
  for (const { event, data } of all) {
    if (event === 'error') throw new Error(`the run failed: ${JSON.stringify(data)}`);
    const parsed = frames[event]?.safeParse(data);
    if (parsed?.success === false)
      throw new Error(`${event}: ${z.prettifyError(parsed.error)}\n${JSON.stringify(data)}`);
  }
  return all;
}

/** Ids of the messages that a stream sent in pieces. */
export const streamedIds = (all: readonly Frame[]): ReadonlySet<string> =>
  new Set(all.flatMap(({ event, data }) => (event === 'messages' ? [(data as [{ id: string }])[0].id] : [])));
