import type { RunRecord } from '@caribou/contracts';
import { delta, end, labels, log, run, start, watch } from '../../testing/watched-run.js';

describe('streamRun with a log that lacks events', () => {
  test('a trimmed log answers a stream from the start with metadata, the newest values and the rest', async () => {
    const { frames } = await watch({ events: log([delta('a', 'x'), end], 40), from: '-1' });

    expect(labels(frames)).toEqual(['metadata 39.1', 'values 39', 'messages 40', 'end 41']);
    expect(frames[1]?.data).toEqual({ messages: [], title: 'head' });
  });

  test('a position inside the lost part is answered by a gap and no end', async () => {
    const { frames } = await watch({ events: log([delta('a', 'x'), end], 40), from: '7.2' });

    expect(frames).toEqual([
      {
        event: 'gap',
        id: undefined,
        data: {
          code: 'stream_replay_gap',
          run_id: 'r1',
          requested_event_id: '7.2',
          earliest_available_event_id: '40',
          latest_available_event_id: '41',
          recovery: 'reload_durable_state',
        },
      },
    ]);
  });

  test('a position just before the lost part ends is no gap', async () => {
    const { frames } = await watch({ events: log([delta('a', 'x'), end], 40), from: '39', modes: ['messages'] });

    expect(frames.map(({ event }) => event)).toEqual(['messages/metadata', 'messages/partial', 'end']);
  });

  test('a finished run whose events are gone still ends, with its error if it had one', async () => {
    const finished: RunRecord = {
      ...run,
      last_seq: 9,
      status: 'error',
      error: { name: 'ModelError', message: 'nope' },
    };
    const { frames } = await watch({ events: [], record: finished });

    expect(frames.map(({ event, id }) => [event, id])).toEqual([
      ['metadata', '0.1'],
      ['error', undefined],
      ['end', '9'],
    ]);
    expect(frames[1]?.data).toEqual({ error: 'ModelError', name: 'ModelError', message: 'nope' });
  });

  test('a position inside a log that has expired is answered by a gap, and the position it names by the end', async () => {
    const record: RunRecord = { ...run, status: 'success', last_seq: 9 };
    for (const from of ['3', '7.2', '8.1']) {
      const { frames, gaps } = await watch({ events: [], record, from });
      expect(frames).toMatchObject([
        { event: 'gap', data: { requested_event_id: from, latest_available_event_id: '9' } },
      ]);
      expect(gaps).toBe(1);
    }
    for (const from of ['8', '9.1', '9'])
      expect(labels((await watch({ events: [], record, from })).frames)).toEqual(['end 9']);
  });

  test('a position beyond the log, which lost its newest events, is answered by a gap', async () => {
    for (const modes of [['values'], ['messages-tuple']] as const) {
      const record: RunRecord = { ...run, last_seq: 2 };
      const { frames } = await watch({ events: log([start(), delta('a', 'x')]), record, from: '5', modes });
      expect(frames).toMatchObject([{ event: 'gap', data: { latest_available_event_id: '2' } }]);
    }
  });
});
