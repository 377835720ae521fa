import { type Message, REMOVE_ALL, type StateUpdate } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { ai, human } from '@caribou/testing';
import fc from 'fast-check';
import { entriesOf, HeadLog, MAX_RANGES, planLog, rangesOf } from './head-log.js';

const head = (messages: readonly Message[], entries: readonly number[], next: number) => ({
  checkpointId: 'c',
  metadata: null,
  next: [],
  state: { messages: [...messages] },
  log: new HeadLog(entries, {}, { nextEntry: next, nextValue: 1, fields: entries.length, swept: 0 }, new Map()),
});
const counters = (nextEntry: number) => ({ nextEntry, nextValue: 1, fields: 0, swept: 0 });

describe(planLog, () => {
  test('an append writes the new messages only and stays one range', () => {
    const [a, b, c] = [human('a'), ai('b'), human('c')];

    const plan = planLog(head([a, b], [1, 2], 3), { messages: [a, b, c] }, counters(3));

    expect(plan).toMatchObject({ messages: [c], entries: [1, 2, 3], ranges: [[1, 3]] });
  });

  test('a message replaced in the middle splits the range around its new entry', () => {
    const [a, b, c] = [human('a'), ai('b'), human('c')];
    const newB = ai('new b', b.id);

    const plan = planLog(head([a, b, c], [1, 2, 3], 4), { messages: [a, newB, c] }, counters(4));

    expect(plan).toMatchObject({
      messages: [newB],
      ranges: [
        [1, 1],
        [4, 4],
        [3, 3],
      ],
    });
  });

  test('more ranges than allowed are written once more as one', () => {
    const messages = Array.from({ length: 2 * MAX_RANGES + 2 }, (_, index) => human(`${index}`));
    const holey = messages.filter((_, index) => index % 2 === 0);

    const plan = planLog(
      head(
        messages,
        messages.map((_, index) => index + 1),
        200,
      ),
      { messages: holey },
      counters(200),
    );

    expect(plan.messages).toEqual(holey);
    expect(plan.ranges).toEqual([[200, 200 + MAX_RANGES]]);
  });

  test('a channel with an equal value keeps its entry; a changed one gets a new one; an absent one has none', () => {
    const from = {
      ...head([], [], 1),
      state: { messages: [], title: 'a', todos: [], artifacts: ['x'] },
      log: new HeadLog(
        [],
        { title: 1, todos: 2, artifacts: 3 },
        { nextEntry: 1, nextValue: 4, fields: 3, swept: 0 },
        new Map(),
      ),
    };

    const plan = planLog(from, { messages: [], title: 'b', todos: [] }, { ...counters(1), nextValue: 4 });

    expect(plan).toMatchObject({ channels: { title: 4, todos: 2 }, values: ['title'] });
  });

  test('whatever updates do, the ranges show exactly the new state', () => {
    const id = fc.constantFrom('1', '2', '3', '4', '5', '6');
    const change = fc.oneof(
      id.map((value) => human('text', value)),
      id.map((value) => ({ type: 'remove' as const, id: value })),
      fc.constant({ type: 'remove' as const, id: REMOVE_ALL }),
    );
    fc.assert(
      fc.property(fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 20 }), (updates) => {
        const log = new Map<number, Message>();
        let at = head([], [], 1);
        for (const messages of updates) {
          const update: StateUpdate = { messages };
          const state = applyUpdate(at.state, update);
          const { nextEntry } = at.log.counters;
          const plan = planLog(at, state, counters(nextEntry));
          plan.messages.forEach((message, index) => log.set(nextEntry + index, message));
          expect(entriesOf(plan.ranges)).toEqual(plan.entries);
          expect(entriesOf(plan.ranges).map((entry) => log.get(entry))).toEqual(state.messages);
          at = head(state.messages, plan.entries, nextEntry + plan.messages.length);
        }
      }),
    );
  });
});

describe(rangesOf, () => {
  test('entries come back as they were', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 20 })), (entries) => {
        expect(entriesOf(rangesOf(entries))).toEqual(entries);
      }),
    );
  });
});
