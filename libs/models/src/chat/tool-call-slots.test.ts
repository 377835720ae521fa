import { ToolCallSlots } from './tool-call-slots.js';

interface Call {
  id: string | null;
  name: string | null;
  args: string;
}

/** The calls that a client puts together from the chunks, by index. */
function joined(deltas: readonly (readonly unknown[])[]): Call[] {
  const slots = new ToolCallSlots();
  const calls: Call[] = [];
  for (const chunk of deltas.flatMap((pieces) => slots.read(pieces) ?? [])) {
    const call = (calls[chunk.index] ??= { id: null, name: null, args: '' });
    if (call.id !== null && chunk.id !== null) throw new Error('the id came twice');
    if (call.name !== null && chunk.name !== null) throw new Error('the name came twice');
    call.id ??= chunk.id;
    call.name ??= chunk.name;
    call.args += chunk.args;
  }
  return calls;
}

const piece = (index: number | undefined, id: string | undefined, name: string | undefined, args: unknown) => ({
  ...(index === undefined ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});

const two = [
  { id: 'c1', name: 'bash', args: '{"a":1}' },
  { id: 'c2', name: 'bash', args: '{"b":2}' },
];
const twoOfOneId = two.map((call) => ({ ...call, id: 'call_0' }));

describe('ToolCallSlots', () => {
  test('joins interleaved pieces by their index', () => {
    const deltas = [
      [piece(0, 'c1', 'bash', '')],
      [piece(1, 'c2', 'bash', '{"b"')],
      [piece(0, undefined, undefined, '{"a":1}'), piece(1, undefined, undefined, ':2}')],
    ];
    expect(joined(deltas)).toEqual(two);
  });

  test('keeps calls apart that all come under index 0', () => {
    expect(joined([[piece(0, 'c1', 'bash', '{"a":1}')], [piece(0, 'c2', 'bash', '{"b":2}')]])).toEqual(two);
    expect(joined([[piece(0, 'call_0', 'bash', '{"a":1}')], [piece(0, 'call_0', 'bash', '{"b":2}')]])).toEqual(
      twoOfOneId,
    );
  });

  test('does without an index, in pieces and in one list', () => {
    const pieces = [
      [piece(undefined, 'c1', 'bash', '{"a"')],
      [piece(undefined, undefined, undefined, ':1}')],
      [piece(undefined, 'c2', 'bash', '{"b":2}')],
    ];
    expect(joined(pieces)).toEqual(two);
    expect(
      joined([[piece(undefined, 'call_0', 'bash', '{"a":1}'), piece(undefined, 'call_0', 'bash', '{"b":2}')]]),
    ).toEqual(twoOfOneId);
  });

  test('emits id and name once although the server repeats them in every chunk', () => {
    const deltas = ['{"a', '":', '1}', ''].map((args) => [piece(0, 'c1', 'bash', args)]);
    expect(joined(deltas)).toEqual([two[0]]);
  });

  test('accepts arguments that are an object, and skips invalid chunks', () => {
    expect(joined([[null, 'x', piece(0, 'c1', 'bash', { a: 1 })]])).toEqual([two[0]]);
  });

  test('rejects an answer with more than 128 calls', () => {
    expect(
      new ToolCallSlots().read(Array.from({ length: 129 }, (_, index) => piece(index, `c${index}`, 'bash', '{}'))),
    ).toBeUndefined();
  });
});
