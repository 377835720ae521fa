import type { NumberedEvent, RunRecord, StreamMode } from '@caribou/contracts';
import { checkpoint, delta, end, labels, log, run, start, watch } from '../../testing/watched-run.js';

describe('streamRun', () => {
  test('a whole run is metadata, what its modes show, and one end', async () => {
    const { frames, ended } = await watch({
      events: log([start(), checkpoint('c1'), delta('a', 'Hi'), checkpoint('c2'), end]),
    });

    expect(labels(frames)).toEqual(['metadata 1.1', 'values 2', 'messages 3', 'values 4', 'end 5']);
    expect(frames.at(-1)?.data).toBeNull();
    expect(ended).toBe(true);
  });

  test('a client that resumes at any frame gets exactly the frames after it', async () => {
    const events = log([
      start(),
      checkpoint('c1'),
      delta('a', 'H'),
      delta('a', 'i'),
      start(2, ['b'], 'c1'),
      checkpoint('c2'),
      end,
    ]);
    const modes: StreamMode[] = [
      'values',
      'messages-tuple',
      'messages',
      'events',
      'debug',
      'tasks',
      'checkpoints',
      'updates',
    ];
    const { frames } = await watch({ events, modes });
    for (const [index, frame] of frames.entries()) {
      if (frame.event === 'end' || frame.id === undefined) continue;
      const rest = await watch({ events, modes, from: frame.id });
      expect(rest.frames).toEqual(frames.slice(index + 1));
    }
  });

  test('deltas of a message that was given up are left out of a replay, and the new attempt names it', async () => {
    const events = log([start(), delta('lost', 'Hel'), start(2, ['lost'], 'c1'), delta('kept', 'Hello'), end]);
    const { frames } = await watch({ events });

    expect(labels(frames)).toEqual(['metadata 1.1', 'metadata 3.1', 'values 3', 'messages 4', 'end 5']);
    expect(frames[1]?.data).toEqual({ run_id: 'r1', thread_id: 't1', attempt: 2, dropped_message_ids: ['lost'] });
  });

  test('a checkpoint that a rollback took is not shown, and the stream goes on', async () => {
    const { frames } = await watch({ events: log([start(), checkpoint('gone'), checkpoint('c2'), end]) });

    expect(labels(frames)).toEqual(['metadata 1.1', 'values 3', 'end 4']);
  });

  test('a client that returns with text that was not in the log yet gets what followed, also after a takeover', async () => {
    const record: RunRecord = { ...run, last_seq: 2 };
    const text = log([start(), delta('a', 'H'), delta('a', 'i'), delta('a', '!'), end]);
    const takenOver = [
      ...text.slice(0, 2),
      { seq: 1_003, event: start(2, ['a'], 'c1'), follows: 2 },
      ...log([delta('b', 'Hello'), end], 1_004),
    ];
    for (const modes of [['values'], ['messages-tuple']] as const) {
      const watched = async (events: readonly NumberedEvent[]) =>
        labels((await watch({ events, record, from: '4~2', modes })).frames);
      expect(await watched(text)).toEqual(['end 5']);
      expect((await watched(takenOver))[0]).toBe('metadata 1003.1');
      expect((await watched(takenOver)).at(-1)).toBe('end 1005');
    }
  });

  test('frames of text that is not in the log yet say so in their ids', async () => {
    const { frames } = await watch({
      events: log([start(), delta('a', 'H')]),
      live: [
        { events: log([delta('a', 'i')], 3), logged: 2 },
        { events: log([end], 4), logged: 4 },
      ],
    });
    expect(labels(frames)).toEqual(['metadata 1.1', 'messages 2', 'messages 3~2', 'end 4']);
  });

  test('a run that ended in the queue is metadata and end', async () => {
    const { frames } = await watch({ events: log([{ kind: 'end', status: 'interrupted' }]) });

    expect(labels(frames)).toEqual(['metadata 1.0', 'end 1']);
    expect(
      (await watch({ events: log([{ kind: 'end', status: 'interrupted' }]), from: '1.0' })).frames.map(
        ({ event }) => event,
      ),
    ).toEqual(['end']);
  });

  test('a run whose record and events are gone ends with an error', async () => {
    const { frames } = await watch({ events: [], stored: null });

    expect(frames.map(({ event }) => event)).toEqual(['metadata', 'error', 'end']);
  });
});
