import { fakeRun } from '@caribou/testing';
import { ChainRecorder, type Span, traceCall, type TraceFields, traceHook } from './instrumentation.js';

/** A clock that only advances when it is moved. */
const steppedClock = () => {
  let ms = 100;
  return { now: () => 1_000_000 + ms, monotonicMs: () => ms, pass: (by: number) => void (ms += by) };
};

interface Told {
  readonly name: string;
  readonly parent: string | undefined;
  readonly fields: TraceFields;
  readonly events: string[];
  startMs?: number | undefined;
  endMs?: number | undefined;
  error?: unknown;
}

/** Records spans, ended ones in `ended`. */
function spans() {
  const ended: Told[] = [];
  const spanOf = (told: Told): Span => ({
    child: (name, fields = {}, startMs) => spanOf({ name, parent: told.name, fields, events: [], startMs }),
    event: (name) => void told.events.push(name),
    end: ({ fields, endMs, error } = {}) =>
      void ended.push({ ...told, fields: { ...told.fields, ...fields }, endMs, error }),
  });
  return { root: spanOf({ name: 'run', parent: undefined, fields: {}, events: [] }), ended };
}

describe(ChainRecorder, () => {
  test("a hook's time is its own, without what it waits for inside", async () => {
    const clock = steppedClock();
    const recorder = new ChainRecorder(clock);
    const run = fakeRun({ recorder });

    await traceHook(run, { middleware: 'outer', hook: 'wrapModelCall' }, async (context, inner) => {
      clock.pass(2);
      await inner(() =>
        traceHook(context, { middleware: 'inner', hook: 'wrapModelCall' }, () => {
          clock.pass(30);
          return Promise.resolve();
        }),
      );
      await inner(() => Promise.resolve(clock.pass(100)));
      clock.pass(1.25);
    });

    expect(recorder.summary()).toEqual({
      durationMs: 33.3,
      chain: [
        { middleware: 'inner', ms: 30, calls: 1, decisions: [] },
        { middleware: 'outer', ms: 3.3, calls: 1, decisions: [] },
      ],
    });
  });

  test('a middleware that took no time and decided nothing is left out, one that decided is not', async () => {
    const recorder = new ChainRecorder(steppedClock());
    const run = fakeRun({ recorder, recordDecision: (by, what) => recorder.recordDecision(by, what) });

    for (const middleware of ['quiet', 'strict'])
      await traceHook(run, { middleware, hook: 'afterModel' }, () => Promise.resolve(undefined));
    run.recordDecision('strict', 'stripped');
    run.recordDecision('strict', 'stripped');
    run.recordDecision('strict', 'warned');

    expect(recorder.summary().chain).toEqual([
      { middleware: 'strict', ms: 0, calls: 1, decisions: ['stripped ×2', 'warned'] },
    ]);
  });

  test('spans are children of what they stand around, with their decisions, and only where something happened', async () => {
    const clock = steppedClock();
    const { root, ended } = spans();
    const recorder = new ChainRecorder(clock);
    const run = fakeRun({ recorder, span: root });
    const call = { name: 'execute_tool bash', fields: { tool: 'bash' }, resultFields: () => ({ outcome: 'ok' }) };

    await traceCall(run, call, async (inCall) => {
      await traceHook(inCall, { middleware: 'audit', hook: 'wrapToolCall' }, (context) => {
        clock.pass(0.5);
        context.recordDecision('audit', 'blocked', { rules: 1 });
        return Promise.resolve();
      });
      await traceHook(inCall, { middleware: 'quick', hook: 'wrapToolCall' }, () => Promise.resolve(clock.pass(0.9)));
    });
    await traceHook(run, { middleware: 'slow', hook: 'afterModel' }, () => Promise.resolve(clock.pass(5)));

    expect(ended).toMatchObject([
      {
        name: 'audit.wrapToolCall',
        parent: 'execute_tool bash',
        events: ['blocked'],
        startMs: 1_000_100,
        endMs: 1_000_100.5,
      },
      { name: 'execute_tool bash', parent: 'run', fields: { tool: 'bash', outcome: 'ok' } },
      { name: 'slow.afterModel', parent: 'run', fields: { 'caribou.own_ms': 5, 'caribou.hook': 'afterModel' } },
    ]);
    expect(run.decisions).toEqual(['audit: blocked']);
  });

  test('what fails is told as failed and passed on', async () => {
    const clock = steppedClock();
    const { root, ended } = spans();
    const run = fakeRun({ recorder: new ChainRecorder(clock), span: root });
    const error = new Error('no');
    const fail = () => {
      clock.pass(1);
      return Promise.reject(error);
    };

    await expect(traceCall(run, { name: 'chat', fields: {} }, fail)).rejects.toBe(error);
    await expect(traceHook(run, { middleware: 'm', hook: 'afterModel' }, fail)).rejects.toBe(error);
    expect(ended.map((span) => [span.name, span.error])).toEqual([
      ['chat', error],
      ['m.afterModel', error],
    ]);
  });

  test('an inner call that a layer forgot may fail without anybody hearing of it twice', async () => {
    const run = fakeRun({ recorder: new ChainRecorder(steppedClock()) });
    const call = traceHook(run, { middleware: 'm', hook: 'wrapModelCall' }, (_run, runUntimed) =>
      runUntimed(() => Promise.reject(new Error('late'))),
    );

    await expect(call).rejects.toThrow('late');
  });

  test('without a trace calls are not looked at, and a run without a recorder works as it is', async () => {
    const recorder = new ChainRecorder(steppedClock());
    const recorded = fakeRun({ recorder });
    const bare = fakeRun();

    for (const run of [recorded, bare]) {
      expect(await traceCall(run, { name: 'chat', fields: {} }, (same) => Promise.resolve(same))).toBe(run);
      expect(await traceHook(run, { middleware: 'm', hook: 'h' }, (same) => Promise.resolve(same))).toBe(run);
    }
  });

  test('it stays bounded', () => {
    const recorder = new ChainRecorder(steppedClock());
    for (let index = 0; index < 500; index += 1) {
      recorder.recordDecision('m', `decision ${index}`);
      recorder.recordDecision(`m${index}`, 'same');
    }

    const { chain } = recorder.summary();
    expect(chain).toHaveLength(100);
    expect(chain.find(({ middleware }) => middleware === 'm')?.decisions).toHaveLength(20);
  });
});
