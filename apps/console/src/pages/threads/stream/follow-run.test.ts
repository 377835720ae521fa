import { ApiError } from '../../../api/request.js';
import type { Frame } from '../state/frames.js';
import { backoffMs } from './backoff.js';
import { type FollowEnd, followRun } from './follow-run.js';

const frame = (id: string, event = 'messages', data: unknown = null): Frame => ({ id, event, data });

/** Follows a run whose connections are played back: each is a list of frames, with an error at its end or without. */
async function follow(
  connections: readonly (readonly (Frame | Error)[])[],
): Promise<{ end: FollowEnd; shown: string[]; asked: (string | undefined)[]; connected: boolean[]; waits: number[] }> {
  const seen = {
    shown: [] as string[],
    asked: [] as (string | undefined)[],
    connected: [] as boolean[],
    waits: [] as number[],
  };
  const join = async function* (after: string | undefined): AsyncGenerator<Frame> {
    const parts = connections[seen.asked.length];
    seen.asked.push(after);
    for (const part of parts ?? []) {
      await Promise.resolve();
      if (part instanceof Error) throw part;
      yield part;
    }
  };
  const end = await followRun(
    {
      join,
      onFrames: (frames) => seen.shown.push(...frames.map(({ id }) => id ?? '')),
      onConnection: (isConnected) => seen.connected.push(isConnected),
      pause: (ms) => {
        seen.waits.push(ms);
        return Promise.resolve();
      },
    },
    undefined,
    new AbortController().signal,
  );
  return { end, ...seen };
}

const lost = new ApiError(0, 'connection lost');

test('a run is followed to its end', async () => {
  const { end, shown, asked } = await follow([[frame('1'), frame('2'), frame('3', 'end')]]);
  expect(end).toEqual({ kind: 'ended' });
  expect(shown).toEqual(['1', '2', '3']);
  expect(asked).toEqual([undefined]);
});

test('a stream that breaks, or that ends without an end, is resumed after its last event', async () => {
  const { end, shown, asked } = await follow([
    [frame('1'), frame('2'), lost],
    [],
    [lost],
    [frame('3'), frame('4')],
    [frame('5', 'end')],
  ]);
  expect(end).toEqual({ kind: 'ended' });
  expect(shown).toEqual(['1', '2', '3', '4', '5']);
  expect(asked).toEqual([undefined, '2', '2', '2', '4']);
});

test('only a second failure in a row is shown, and the connection that comes back', async () => {
  const once = await follow([
    [frame('1'), lost],
    [frame('2'), frame('3', 'end')],
  ]);
  expect(once.connected).not.toContain(false);
  const twice = await follow([[frame('1'), lost], [lost], [frame('2'), frame('3', 'end')]]);
  expect(twice.connected.filter((isConnected, index) => isConnected !== twice.connected[index - 1])).toEqual([
    true,
    false,
    true,
  ]);
});

test('a gap says after which event the stream continues', async () => {
  const gap = frame('9', 'gap', { latest_available_event_id: '40' });
  expect((await follow([[frame('1'), lost], [gap]])).end).toEqual({ kind: 'gap', latest: '40' });
});

test('a run that was rolled back or deleted is gone', async () => {
  expect((await follow([[frame('1'), lost], [new ApiError(404, 'no such run')]])).end).toEqual({ kind: 'gone' });
});

test('an expired session is not tried again, a server that is busy is', async () => {
  await expect(follow([[new ApiError(401, 'sign in')]])).rejects.toMatchObject({ status: 401 });
  const { end } = await follow([[new ApiError(429, 'busy')], [new ApiError(503, 'away')], [frame('1', 'end')]]);
  expect(end).toEqual({ kind: 'ended' });
});

test('waits grow and have a bound', () => {
  const waits = [1, 2, 3, 4, 20].map((failures) => backoffMs(failures, () => 0.5));
  expect(waits).toEqual([300, 600, 1_200, 2_400, 8_000]);
});
