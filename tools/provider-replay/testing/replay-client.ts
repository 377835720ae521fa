import { startProviderReplay } from '../framework/server.js';
import type { ProviderReplay, ProviderReplayOptions } from '../framework/replay.js';

export interface Answered {
  status: number;
  headers: Headers;
  /** The parsed JSON of a body that is not a stream. */
  body: unknown;
  /** The body as it came. */
  text: string;
  /** The parsed `data` of each event of a stream but `[DONE]`. */
  events: Record<string, unknown>[];
}

/** Starts servers for the tests of one file, and stops them after each test. */
export function replaysOfTest(): (options: ProviderReplayOptions) => Promise<ProviderReplay> {
  const running: ProviderReplay[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((replay) => replay.close()));
  });
  return async (options) => {
    const replay = await startProviderReplay(options);
    running.push(replay);
    return replay;
  };
}

/** Posts JSON and reads the whole answer. */
export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answered> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const streamed = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: streamed ? undefined : JSON.parse(text),
    events: streamed ? eventsOf(text) : [],
  };
}

function eventsOf(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>);
}

/** Waits for a condition, limited by the time of the test. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
