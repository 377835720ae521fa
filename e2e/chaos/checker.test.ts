import type { Message } from '@caribou/contracts';
import { ai, human } from '@caribou/testing';
import { violationsOf } from './checker.js';
import type { Effect, FrameMark, History, RunHistory, ThreadHistory } from './history.js';
import { planFaults, planThread } from './plan.js';

const frame = (id: number, event = 'messages', digest = `d${id}`): FrameMark => ({ id: String(id), event, digest });
const END = frame(3, 'end');
const LOG = [frame(1), frame(2), END];

const run = (over: Partial<RunHistory> = {}): RunHistory => ({
  threadId: 't1',
  runId: 'r1',
  kind: 'plain',
  script: 'one',
  may: ['success'],
  acceptedAtMs: 1,
  segments: [{ after: '-1', frames: LOG }],
  stuck: false,
  attempts: 1,
  errors: [],
  status: 'success',
  replay: LOG,
  ...over,
});

const message = (text: string, id: string): Message => ({ ...human(text), id });
const answer = (text: string, id: string): Message => ({ ...ai(text), id });
const thread = (over: Partial<ThreadHistory> = {}): ThreadHistory => ({
  threadId: 't1',
  runs: [run(), run({ runId: 'r2', script: 'two' })],
  messages: [message('one', 'm1'), answer('a', 'm2'), message('two', 'm3'), answer('b', 'm4')],
  effects: [effect(1, true), effect(0, false), effect(1, false)],
  ...over,
});
const effect = (count: number, reported: boolean): Effect => ({ where: 'ledger', word: 'w', count, reported });
const history = (over: Partial<History> = {}): History => ({
  threads: [thread()],
  remembered: [{ threadId: 't1', word: 'w', count: 1 }],
  usage: { answered: [], ledger: [], declined: [] },
  remains: [],
  incidents: [],
  ...over,
});

const rulesOf = (over: Partial<History>): readonly string[] => violationsOf(history(over)).map(({ rule }) => rule);
const rulesOfRun = (over: Partial<RunHistory>): readonly string[] =>
  rulesOf({ threads: [thread({ runs: [run(over), run({ runId: 'r2', script: 'two' })] })] });

describe('violationsOf', () => {
  test('finds nothing in a valid history, read in pieces, with a gap or removed', () => {
    expect(violationsOf(history())).toEqual([]);
    const pieces = [
      { after: '-1', frames: LOG.slice(0, 2) },
      { after: '2', frames: [END] },
    ];
    expect(rulesOfRun({ segments: pieces })).toEqual([]);
    const live = [frame(1), { ...frame(2), id: '2~1' }, { ...END, id: '3~1' }];
    expect(rulesOfRun({ segments: [{ after: '-1', frames: live }] })).toEqual([]);
    const gap = [{ after: '1', frames: [{ id: undefined, event: 'gap', digest: 'g' }] }];
    expect(rulesOfRun({ segments: gap })).toEqual([]);
    const restart = frame(4, 'metadata');
    const took = [frame(1), { ...restart, id: '4.1' }, frame(4, 'values'), frame(5, 'end')];
    const watched = [{ after: '-1', frames: [frame(1), frame(2), frame(3), ...took.slice(1)] }];
    expect(rulesOfRun({ segments: watched, replay: took })).toEqual([]);
    const spent = { status: 'error', attempts: 5, replay: [frame(1), frame(3, 'error'), frame(4, 'end')] };
    const failed = [frame(1), frame(2), frame(3, 'error'), frame(4, 'end')];
    expect(rulesOfRun({ ...spent, segments: [{ after: '-1', frames: failed }] })).toEqual([]);
    const gone = run({ runId: 'r0', script: 'none', status: 'gone', may: ['gone'], replay: undefined });
    expect(rulesOf({ threads: [thread({ runs: [gone, ...thread().runs] })] })).toEqual([]);
  });

  test.each<[string, Partial<RunHistory>, readonly string[]]>([
    ['a run that did not end', { status: 'running' }, ['terminal']],
    ['a stream that did not end in time', { stuck: true }, ['terminal']],
    ['an end that nothing asked for', { status: 'interrupted' }, ['status']],
    ['an error of a run that had attempts left', { status: 'error', attempts: 4 }, ['status']],
    ['a run without a record that should have one', { status: 'gone', replay: undefined }, ['status', 'order']],
    ['two terminal events', { replay: [...LOG, frame(4, 'end')] }, ['terminal event', 'stream hole']],
    ['no terminal event', { replay: LOG.slice(0, 2) }, ['terminal event', 'stream hole']],
    ['an event that was not delivered', { segments: [{ after: '-1', frames: [frame(1), END] }] }, ['stream hole']],
    [
      'an event that came twice, the first time before it was in the log',
      { segments: [{ after: '-1', frames: [frame(1), { ...frame(2), id: '2~1' }, frame(2), END] }] },
      ['stream repeat', 'stream hole'],
    ],
    ['a stream that stopped early', { segments: [{ after: '-1', frames: LOG.slice(0, 1) }] }, ['stream hole']],
    [
      'an event with other contents than are logged',
      { segments: [{ after: '-1', frames: [frame(1), frame(2, 'messages', 'other'), END] }] },
      ['stream hole'],
    ],
    ['more than the log holds, with no other attempt behind it', { replay: [frame(1), END] }, ['stream hole']],
    [
      'an event that came twice',
      {
        segments: [
          { after: '-1', frames: LOG.slice(0, 2) },
          { after: '1', frames: LOG.slice(1) },
        ],
      },
      ['stream repeat', 'stream hole'],
    ],
  ])('finds %s', (_name, over, rules) => {
    expect(rulesOfRun(over)).toEqual(rules);
  });

  test.each<[string, Partial<ThreadHistory>, readonly string[]]>([
    ['a message that is not there', { messages: [message('one', 'm1')] }, ['order']],
    ['a message that is there twice', { messages: [...(thread().messages ?? []), message('two', 'm5')] }, ['order']],
    ['messages in another order', { messages: [message('two', 'm1'), message('one', 'm2')] }, ['order']],
    [
      'two messages with one id',
      { messages: [message('one', 'm1'), answer('a', 'm2'), message('two', 'm2')] },
      ['transcript'],
    ],
    [
      'a result that nothing asked for',
      { messages: [...(thread().messages ?? []), { ...toolResult('call_1'), id: 'm5' }] },
      ['transcript'],
    ],
    [
      'a call of a run that nobody stopped without a result',
      {
        messages: [
          message('one', 'm1'),
          { ...ai('', 'm2'), tool_calls: [{ type: 'tool_call', id: 'c', name: 'bash', args: {} }] },
          message('two', 'm3'),
        ],
      },
      ['transcript'],
    ],
    ['an effect that happened twice', { effects: [effect(2, false)] }, ['effect']],
    ['an effect that was reported and did not happen', { effects: [effect(0, true)] }, ['effect']],
  ])('finds %s', (_name, over, rules) => {
    expect(rulesOf({ threads: [thread(over)] })).toEqual(rules);
  });

  test.each<[string, Partial<History>, string]>([
    ['what was to be remembered and is not', { remembered: [{ threadId: 't1', word: 'w', count: 0 }] }, 'memory'],
    ['what is remembered twice', { remembered: [{ threadId: 't1', word: 'w', count: 2 }] }, 'memory'],
    ['what was left', { remains: ['key caribou:slots'] }, 'remains'],
    ['what went wrong beside', { incidents: [{ what: 'a service ended by itself' }] }, 'incident'],
  ])('finds %s', (_name, over, rule) => {
    expect(rulesOf(over)).toEqual([rule]);
  });
});

function toolResult(callId: string): Message {
  return {
    type: 'tool',
    id: callId,
    content: 'x',
    tool_call_id: callId,
    status: 'success',
    name: 'bash',
    additional_kwargs: {},
  } as Message;
}

describe('plan', () => {
  const fleet = { gateway: 2, 'agent-runner': 2, 'sandbox-manager': 2, 'subagent-pool': 2, 'memory-worker': 2 };

  test('one seed always plans the same faults and turns, another seed plans others', () => {
    const times = { durationMs: 300_000, meanPauseMs: 1_000 };
    const faults = planFaults(7, fleet, times);
    expect(planFaults(7, fleet, times)).toEqual(faults);
    expect(planFaults(8, fleet, times)).not.toEqual(faults);
    expect(planThread(7, 1, 2)).toEqual(planThread(7, 1, 2));
    expect(planThread(7, 1, 3)).not.toEqual(planThread(7, 1, 2));
  });

  test('the object store is killed at least twice, and is back before the next time', () => {
    for (const durationMs of [4_000, 19_000, 300_000]) {
      const times = { durationMs, meanPauseMs: 1_000 };
      const faults = planFaults(7, fleet, { ...times, hasStore: true });
      const kills = faults.filter((fault) => 'server' in fault && fault.server === 'objects');
      expect(kills.length).toBe(Math.max(2, Math.round(durationMs / 30_000)));
      kills.forEach(({ atMs, forMs }, index) => {
        expect(atMs + forMs).toBeLessThan(kills[index + 1]?.atMs ?? durationMs);
      });
      const others = planFaults(7, fleet, times);
      expect(faults).toEqual(expect.arrayContaining([...others]));
      const added = faults.filter((fault) => !others.some(({ atMs }) => atMs === fault.atMs));
      expect(added.filter((fault) => 'app' in fault && fault.app === 'sandbox-manager')).toHaveLength(kills.length);
    }
    const kinds = Array.from({ length: 20 }, (_, lane) => planThread(7, lane, 0, true)).flat();
    expect(kinds.map(({ kind }) => kind)).toContain('files');
  });

  test('all kinds of faults affect all services and servers, within the time', () => {
    const faults = planFaults(7, fleet, { durationMs: 600_000, meanPauseMs: 1_000 });
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(['kill', 'pause', 'restart', 'cut', 'silence']));
    expect(new Set(faults.flatMap((fault) => ('app' in fault ? [fault.app] : [])))).toEqual(
      new Set(Object.keys(fleet)),
    );
    expect(new Set(faults.flatMap((fault) => ('server' in fault && !('app' in fault) ? [fault.server] : [])))).toEqual(
      new Set(['nats', 'redis']),
    );
    expect(faults.every(({ atMs }) => atMs >= 0 && atMs < 600_000)).toBe(true);
  });
});
