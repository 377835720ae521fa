import type { Fleet } from '../fleet.js';
import { simpleTurn } from '../load.js';
import { inTurn, median } from '../sample.js';
import { readStream, type StreamTimes } from '../sse-client.js';
import { newThread, postJson, streamRun } from '../turns.js';
import type { ServerFigures } from '../server-figures.js';

export interface TurnCost {
  readonly redisBytes: number;
  readonly natsBytes: number;
  readonly totalMs: number;
  /** The floor's time for an answer to a history of the same length. */
  readonly floorMs: number;
}

/** Turns around the measured one, of which the median is taken. */
const AROUND = 3;

/** Measures the cost of turn `early` and turn `late` of one thread, each the median of a few around it. */
export async function measureGrowingThread(
  fleet: Fleet,
  figures: ServerFigures,
  { early, late }: { readonly early: number; readonly late: number },
): Promise<{ readonly early: TurnCost; readonly late: TurnCost }> {
  const threadUrl = `${fleet.apiUrl}/threads/${await newThread(fleet.apiUrl)}`;
  const isNear = (turn: number): boolean => [early, late].some((asked) => Math.abs(turn - asked) <= AROUND);
  const costs = await inTurn(late + AROUND, async (index): Promise<TurnCost> => {
    const before = await figures.written();
    const { totalMs } = await streamRun(threadUrl, simpleTurn());
    const after = await figures.written();
    return {
      redisBytes: after.redisBytes - before.redisBytes,
      natsBytes: after.natsBytes - before.natsBytes,
      totalMs,
      floorMs: isNear(index + 1) ? (await floorTurn(fleet, index + 1)).totalMs : 0,
    };
  });
  const costAt = (turn: number): TurnCost => {
    const around = costs.slice(turn - 1 - AROUND, turn + AROUND);
    const middle = (name: keyof TurnCost): number => median(around.map((cost) => cost[name]));
    return {
      redisBytes: middle('redisBytes'),
      natsBytes: middle('natsBytes'),
      totalMs: middle('totalMs'),
      floorMs: middle('floorMs'),
    };
  };
  return { early: costAt(early), late: costAt(late) };
}

/** The floor's answer to the n-th question of such a conversation. */
function floorTurn({ floorUrl }: Fleet, turn: number): Promise<StreamTimes> {
  const question = { role: 'user', content: simpleTurn() };
  const answer = { role: 'assistant', content: Array.from({ length: 40 }, (_, index) => `t${index}`).join(' ') };
  const messages = Array.from({ length: 2 * turn - 1 }, (_, index) => (index % 2 === 0 ? question : answer));
  return readStream({ method: 'POST', url: floorUrl, body: { messages } });
}

export interface ValuesCost {
  readonly messages: number;
  readonly valuesBytes: number;
  /** Reading the thread's state from the store. */
  readonly stateMs: number;
  /** Joining a finished run with `values` for the first time, and again. */
  readonly coldJoinMs: number;
  readonly warmJoinMs: number;
  /** A whole turn with `values`. */
  readonly turnMs: number;
}

const REPEATS = 5;

/** Measures loading and serialising whole states on a thread of so many messages. */
export async function valuesOf(fleet: Fleet, messages: number): Promise<ValuesCost> {
  const threadUrl = `${fleet.apiUrl}/threads/${await newThread(fleet.apiUrl)}`;
  const text = 'A message of an ordinary length, as people write them to an assistant in a long conversation. ';
  const history = Array.from({ length: messages - 2 }, (_, index) => ({ type: 'human', content: `${index} ${text}` }));
  await postJson(`${threadUrl}/state`, { values: { messages: history } });
  const { location } = await streamRun(threadUrl, simpleTurn());
  const runUrl = `${threadUrl}${location.replace(/^\/threads\/[^/]+/, '')}/stream?stream_mode=values`;
  const join = (): Promise<StreamTimes> => readStream({ method: 'GET', url: runUrl });
  const cold = await join();
  const warm = await inTurn(REPEATS, join);
  const state = await inTurn(REPEATS, () => measureMs(() => getText(`${threadUrl}/state`)));
  const turns = await inTurn(REPEATS, () => streamRun(threadUrl, simpleTurn(), { modes: ['values'] }));
  return {
    messages,
    valuesBytes: cold.bytes,
    stateMs: median(state),
    coldJoinMs: cold.totalMs,
    warmJoinMs: median(warm.map((time) => time.totalMs)),
    turnMs: median(turns.map((time) => time.totalMs)),
  };
}

async function getText(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 300)}`);
  return text;
}

/** Measures the duration of some work, in milliseconds. */
export async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
