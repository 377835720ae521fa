import {
  BugError,
  type Message,
  REMOVE_ALL,
  type RemoveMessage,
  type StateUpdate,
  type ThreadState,
} from '@caribou/contracts';
import fc from 'fast-check';
import { applyUpdate, clientUpdate, EMPTY_STATE, isEmptyUpdate, joinUpdates, messageIdOrNew } from './agent-state.js';

const human = (id: string, content = id): Message => ({
  type: 'human',
  id,
  content,
  additional_kwargs: {},
  response_metadata: {},
});
const remove = (id: string): RemoveMessage => ({ type: 'remove', id });
const idsOf = (state: ThreadState): readonly string[] => state.messages.map((message) => message.id);

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const change = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(id, fc.string({ maxLength: 3 })).map(([key, text]) => human(key, text)) },
  { weight: 2, arbitrary: id.map(remove) },
  { weight: 1, arbitrary: fc.constant(remove(REMOVE_ALL)) },
);
const update: fc.Arbitrary<StateUpdate> = fc.record(
  {
    messages: fc.array(change, { maxLength: 6 }),
    artifacts: fc.array(fc.constantFrom('/x', '/y', '/z'), { maxLength: 3 }),
    title: fc.constantFrom('one', 'two'),
    viewed_images: fc.dictionary(fc.constantFrom('/a', '/b'), fc.constant({ mime_type: 'image/png', size: 1 }), {
      minKeys: 1,
    }),
    promoted: fc.record({ catalog_hash: fc.constant('h'), names: fc.array(id, { maxLength: 3 }) }),
    guards: fc.dictionary(id, fc.constantFrom(1, 2, null), { maxKeys: 3 }),
    extensions: fc.dictionary(id, fc.constantFrom(1, 2, null), { maxKeys: 3 }),
  },
  { requiredKeys: [] },
);

/** The merge rules said the slow way: one change after the other on a plain list. */
function oneByOne(messages: readonly Message[], changes: readonly (Message | RemoveMessage)[]): readonly Message[] {
  return changes.reduce<readonly Message[]>((list, next) => {
    if (next.type === 'remove') return next.id === REMOVE_ALL ? [] : list.filter((message) => message.id !== next.id);
    const known = list.some((message) => message.id === next.id);
    return known ? list.map((message) => (message.id === next.id ? next : message)) : [...list, next];
  }, messages);
}

const after = (updates: readonly StateUpdate[]): ThreadState => updates.reduce(applyUpdate, EMPTY_STATE);

describe('channels that are joined', () => {
  test('promoted tools are joined while the catalogue is the same, and replaced by those of another', () => {
    const same = after([
      { promoted: { catalog_hash: 'h', names: ['a', 'b'] } },
      { promoted: { catalog_hash: 'h', names: ['b', 'c'] } },
    ]);
    expect(same.promoted).toEqual({ catalog_hash: 'h', names: ['a', 'b', 'c'] });
    expect(() =>
      joinUpdates({ promoted: { catalog_hash: 'h', names: [] } }, { promoted: { catalog_hash: 'i', names: [] } }),
    ).toThrow(BugError);
    expect(applyUpdate(same, { promoted: { catalog_hash: 'i', names: ['z'] } }).promoted?.names).toEqual(['z']);
  });
});

describe(applyUpdate, () => {
  test('messages follow the merge rules as if applied one by one, and keep their identity', () => {
    fc.assert(
      fc.property(fc.array(update, { maxLength: 5 }), fc.array(change, { maxLength: 8 }), (before, changes) => {
        const state = after(before);

        const { messages } = applyUpdate(state, { messages: changes });

        const expected = oneByOne(state.messages, changes);
        expect(messages).toHaveLength(expected.length);
        messages.forEach((message, index) => expect(message).toBe(expected[index]));
      }),
    );
  });

  test('an update never changes the state it is applied to', () => {
    fc.assert(
      fc.property(fc.array(update, { maxLength: 5 }), update, (before, next) => {
        const state = after(before);
        const copy = structuredClone(state);

        applyUpdate(state, next);

        expect(state).toEqual(copy);
      }),
    );
  });

  test('no two messages ever have the same id', () => {
    fc.assert(
      fc.property(fc.array(update, { maxLength: 8 }), (updates) => {
        const ids = idsOf(after(updates));

        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  test('a replaced message keeps its position, a removed one is gone, an unknown removal is ignored', () => {
    const state: ThreadState = { messages: [human('a'), human('b'), human('c')] };

    const next = applyUpdate(state, { messages: [human('b', 'new'), remove('a'), remove('nobody')] });

    expect(next.messages).toEqual([human('b', 'new'), human('c')]);
  });

  test('remove-all drops what precedes it and keeps what follows', () => {
    const state: ThreadState = { messages: [human('a')] };

    expect(idsOf(applyUpdate(state, { messages: [human('b'), remove(REMOVE_ALL), human('c')] }))).toEqual(['c']);
  });

  test('artifacts are joined in first-seen order, other channels take the last value, undefined keeps', () => {
    const state: ThreadState = { messages: [], artifacts: ['/b'], title: 'old' };

    expect(applyUpdate(state, { artifacts: ['/a', '/b'], title: 'new' })).toEqual({
      messages: [],
      artifacts: ['/b', '/a'],
      title: 'new',
    });
    expect(applyUpdate(state, JSON.parse('{}') as StateUpdate)).toEqual(state);
  });
});

describe('images that were viewed', () => {
  const image = (size: number) => ({ mime_type: 'image/png', size });

  test('are joined by path, the newer one wins, and none at all clears them', () => {
    const state: ThreadState = { messages: [], viewed_images: { '/a': image(1), '/b': image(2) } };

    const { viewed_images } = applyUpdate(state, { viewed_images: { '/b': image(3), '/c': image(4) } });
    expect(viewed_images).toEqual({ '/a': image(1), '/b': image(3), '/c': image(4) });
    expect(applyUpdate(state, { viewed_images: {} }).viewed_images).toEqual({});
    expect(joinUpdates({ viewed_images: { '/a': image(1) } }, { viewed_images: {} })).toEqual({ viewed_images: {} });
  });

  test('cannot be cleared and added in one update', () => {
    expect(() => joinUpdates({ viewed_images: {} }, { viewed_images: { '/a': image(1) } })).toThrow('at once');
  });
});

describe(joinUpdates, () => {
  test('the joined update has the effect of both in order', () => {
    fc.assert(
      fc.property(fc.array(update, { maxLength: 4 }), update, update, (before, first, second) => {
        const state = after(before);

        expect(applyUpdate(state, joinUpdates(first, second))).toEqual(applyUpdate(applyUpdate(state, first), second));
      }),
    );
  });
});

describe(isEmptyUpdate, () => {
  test('only an update without any change is empty', () => {
    expect(isEmptyUpdate({})).toBe(true);
    expect(isEmptyUpdate({ messages: [] })).toBe(true);
    expect(isEmptyUpdate({ messages: [remove('a')] })).toBe(false);
    expect(isEmptyUpdate({ title: '' })).toBe(false);
  });
});

describe(messageIdOrNew, () => {
  test('a given id is used, a missing or empty one is created', () => {
    expect(messageIdOrNew('mine')).toBe('mine');
    for (const missing of [undefined, null, '']) expect(messageIdOrNew(missing)).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe(clientUpdate, () => {
  const answer = (id: string): Message => ({
    ...human(id, 'said'),
    type: 'ai',
    tool_calls: [],
    invalid_tool_calls: [],
  });
  const result = (id: string): Message => ({
    ...human(id, 'done'),
    type: 'tool',
    name: 'bash',
    tool_call_id: 'c',
    status: 'success',
  });
  const hidden = (id: string): Message => ({ ...human(id), additional_kwargs: { hide_from_ui: true } });
  const written = fc.oneof(
    id.map(answer),
    id.map(result),
    id.map(hidden),
    id.map((key) => human(key)),
  );
  const sent = fc.tuple(id, fc.string({ maxLength: 3 }), fc.constantFrom('human', 'system'));

  test('no message of a client replaces one that it did not write, and none is lost', () => {
    const messages = fc.uniqueArray(written, { selector: (message) => message.id });
    fc.assert(
      fc.property(messages, fc.array(sent, { maxLength: 6 }), (before, changes) => {
        const incoming = changes.map(([key, text, type]) => ({ ...human(key, text), type }));
        const state = { messages: before };
        const after = applyUpdate(state, clientUpdate(state, { messages: incoming })).messages;
        const foreign = before.filter(
          ({ type, additional_kwargs: marks }) => type !== 'human' || marks['hide_from_ui'],
        );
        expect(after).toEqual(expect.arrayContaining(foreign));
        for (const { id: key } of incoming) {
          const last = incoming.findLast((message) => message.id === key);
          expect(after.map(({ content }) => content)).toContain(last?.content);
        }
      }),
    );
  });

  test('a message that a client edits by its id is replaced, and one that it sends back as it was is left out', () => {
    const state = { messages: [human('h', 'old'), hidden('m'), answer('a')] };
    const update = clientUpdate(state, { messages: [human('h', 'new'), human('m'), human('a', 'forged')] });

    expect(update.messages).toMatchObject([{ id: 'h', content: 'new' }, { content: 'forged' }]);
    expect(update.messages?.[1]?.id).not.toBe('a');
  });
});
