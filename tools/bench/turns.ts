import { omitUndefined } from '@caribou/contracts';
import { inParallel } from './sample.js';
import { readStream, type StreamTimes } from './sse-client.js';

/** How to request one answer from a server. */
export interface Target {
  readonly name: string;
  /** Creates a thread for each of so many turns. Not part of a turn's cost. */
  prepare(turns: number): Promise<readonly string[]>;
  /** One human message, answered; `place` is what `prepare` returned. */
  turn(place: string, script: string): Promise<StreamTimes>;
}

/** A simple turn's stream modes. */
const MODES = ['messages-tuple', 'updates'];

/** Sends JSON and returns JSON. @throws Error for a status other than 2xx */
export async function postJson(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
  return (await response.json()) as Readonly<Record<string, unknown>>;
}

/** The id of a new thread at a server that speaks LangGraph's protocol. */
export async function newThread(apiUrl: string): Promise<string> {
  return String((await postJson(`${apiUrl}/threads`, {}))['thread_id']);
}

export interface RunOptions {
  readonly assistantId?: string;
  readonly modes?: readonly string[];
  /** The server is another product, which sends no `end`. */
  readonly peer?: boolean;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** Starts a run on a thread and streams it. @throws Error when the stream of Caribou breaks off without `end` */
export async function streamRun(
  threadUrl: string,
  script: string,
  { assistantId = 'lead_agent', modes = MODES, peer = false, context }: RunOptions = {},
): Promise<StreamTimes> {
  const input = { messages: [{ type: 'human', content: script }] };
  const times = await readStream({
    method: 'POST',
    url: `${threadUrl}/runs/stream`,
    body: { assistant_id: assistantId, input, stream_mode: modes, ...omitUndefined({ context }) },
  });
  if (!times.ended && !peer) throw new Error(`${threadUrl}: the stream broke off`);
  return times;
}

/** A server that speaks LangGraph's protocol: Caribou, or the peer it is compared with. */
export const langGraphTarget = (name: string, apiUrl: string, options: RunOptions = {}): Target => ({
  name,
  prepare: (turns) => inParallel(turns, 16, () => newThread(apiUrl)),
  turn: (threadId, script) => streamRun(`${apiUrl}/threads/${threadId}`, script, options),
});

/** The floor, given the same message. */
export const floorTarget = (floorUrl: string): Target => ({
  name: 'floor',
  prepare: (turns) => Promise.resolve(Array.from({ length: turns }, () => '')),
  turn: (_place, content) =>
    readStream({ method: 'POST', url: floorUrl, body: { messages: [{ role: 'user', content }] } }),
});
