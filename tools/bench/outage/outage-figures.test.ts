import { countIn, outageFigures } from './outage-figures.js';
import type { SeenRun } from './run-reader.js';
import type { AcceptedRun } from './turn-load.js';

const seenAs = (texts: readonly string[], more: Partial<SeenRun> = {}): SeenRun => ({
  texts: new Map(texts.map((text, index) => [`m${index}`, text])),
  readAtMs: [],
  attempt: 1,
  isOver: true,
  gaps: 0,
  ...more,
});

const runWith = (mark: string, more: Partial<AcceptedRun> = {}): AcceptedRun => ({
  ...{ threadId: 't', runId: mark, mark, neededCalls: 1, acceptedAtMs: 0, endedAtMs: 1 },
  ...{ seen: seenAs(['t0 t1 t2']), status: 'success', ...more },
});

const figuresOf = (runs: readonly AcceptedRun[], countCalls: (mark: string) => number = () => 1) =>
  outageFigures({ runs, fault: { beganMs: 5, endedMs: 10, underWay: runs }, tokens: 3, countCalls });

describe(outageFigures, () => {
  test('counts runs by status, and as lost those without a terminal one', () => {
    const figures = figuresOf([runWith('a'), runWith('b', { status: 'running' }), runWith('c', { status: 'error' })]);

    expect(figures).toMatchObject({ accepted: 3, lost: 1, byStatus: { success: 1, running: 1, error: 1 } });
  });

  test('counts model calls beyond those that a turn needs, for each run that was under way', () => {
    const runs = [runWith('a'), runWith('b', { neededCalls: 2 }), runWith('c', { neededCalls: 2 }), runWith('d')];
    const calls = new Map(Object.entries({ a: 3, b: 2, c: 1, d: 1 }));

    const figures = figuresOf(runs, (mark) => calls.get(mark) ?? 0);

    expect(figures).toMatchObject({ repeatedCalls: 2, underWay: 4, repeatedShare: 0.5 });
  });

  test.each([
    { what: 'a hole', seen: seenAs(['t0 t2']) },
    { what: 'a repetition', seen: seenAs(['t0 t1 t1 t2']) },
    { what: 'two answers', seen: seenAs(['t0 t1 t2', 't0']) },
    { what: 'a gap', seen: seenAs(['t0 t1 t2'], { gaps: 1 }) },
  ])('a successful run whose client saw $what counts as broken', ({ seen }) => {
    expect(figuresOf([runWith('a', { seen }), runWith('b', { seen: seenAs(['', 't0 t1 t2 ']) })]).brokenStreams).toBe(
      1,
    );
  });

  test('the time until text comes again counts from the end of the fault', () => {
    const seen = seenAs(['t0 t1 t2'], { readAtMs: [4, 9, 13, 14] });

    expect(figuresOf([runWith('a', { seen }), runWith('b')]).resumedAfterMs).toEqual([3]);
  });
});

test('countIn counts requests by the last message that is a script, whatever else the thread has', () => {
  const request = (...texts: string[]) => ({ body: { messages: texts.map((content) => ({ role: 'user', content })) } });

  const countCalls = countIn([request('x #tokens 3'), request('x #tokens 3', 'y #tokens 3', 'a reminder')]);

  expect([countCalls('x'), countCalls('y'), countCalls('z')]).toEqual([1, 1, 0]);
});
