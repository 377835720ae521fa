import type { NumberedEvent, RunEvent } from '@caribou/contracts';
import type { Publication } from './event-batch.js';
import { PublicationQueue } from './publication-queue.js';

describe(PublicationQueue, () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const start = (seq: number): NumberedEvent => ({
    seq,
    event: { kind: 'task.start', task_id: 't', node: 'model_request', step: 1, triggers: [] },
  });
  const custom = (seq: number): NumberedEvent => ({ seq, event: { kind: 'custom', data: seq } });

  function open() {
    const sent: string[] = [];
    const queue = new PublicationQueue((runId, { events, logged }: Publication) => {
      sent.push(`${runId}: ${events.map(({ seq }) => seq).join(' ')} of ${logged}`);
    }, 50);
    return { sent, queue };
  }

  test('what is published of a run in one turn of the event loop is one message, in its order', () => {
    const { sent, queue } = open();
    queue.add('a', { events: [custom(1)], logged: 1 });
    queue.add('b', { events: [custom(1)], logged: 1 });
    queue.add('a', { events: [custom(2), start(3)], logged: 1 });
    expect(sent).toEqual([]);
    jest.advanceTimersByTime(0);
    expect(sent).toEqual(['a: 1 2 3 of 1', 'b: 1 of 1']);
  });

  test('an announcement waits for the next event of its run, up to 50 ms', () => {
    const { sent, queue } = open();
    queue.add('a', { events: [start(1)], logged: 1 });
    queue.add('b', { events: [start(1)], logged: 1 });
    jest.advanceTimersByTime(49);
    expect(sent).toEqual([]);
    queue.add('a', { events: [start(2)], logged: 2 });
    queue.add('a', { events: [custom(3)], logged: 2 });
    jest.advanceTimersByTime(0);
    expect(sent).toEqual(['a: 1 2 3 of 2']);
    jest.advanceTimersByTime(2);
    expect(sent).toEqual(['a: 1 2 3 of 2', 'b: 1 of 1']);
    jest.runAllTimers();
    expect(sent).toHaveLength(2);
  });

  test('so does the news that events are in the log', () => {
    const { sent, queue } = open();
    queue.add('a', { events: [], logged: 2 });
    jest.advanceTimersByTime(49);
    queue.add('a', { events: [custom(3)], logged: 2 });
    jest.advanceTimersByTime(1);
    expect(sent).toEqual(['a: 3 of 2']);
    queue.add('a', { events: [], logged: 3 });
    jest.advanceTimersByTime(51);
    expect(sent).toEqual(['a: 3 of 2', 'a:  of 3']);
  });

  const prompt: readonly RunEvent['kind'][] = ['message', 'message.delta', 'end', 'custom', 'error', 'task.end'];
  test.each(prompt)('an event of the kind %s waits for nothing', (kind) => {
    const { sent, queue } = open();
    // The queue looks at the kind only.
    queue.add('a', { events: [{ seq: 1, event: { kind } as RunEvent }], logged: 1 });
    jest.advanceTimersByTime(0);
    expect(sent).toHaveLength(1);
  });
});
