import fc from 'fast-check';
import { FIELD_TYPES, parseForm } from './clarification-form.js';

const text = (name: string, over: object = {}): object => ({ name, label: name.toUpperCase(), type: 'text', ...over });
const many = (count: number): readonly object[] => Array.from({ length: count }, (_, index) => text(`f${index}`));
const choice = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `option ${index}`);

describe(parseForm, () => {
  test.each<[string, unknown]>([
    ['a list', [text('a'), text('b')]],
    ['a JSON string', JSON.stringify([text('a'), text('b')])],
    ['a wrapped list', { fields: [text('a'), text('b')] }],
    ['names and labels for each other', [{ name: 'A' }, { label: 'B' }]],
    ['words', ['a', 'b']],
  ])('%s is read', (_what, given) => {
    expect(parseForm(given).fields?.map(({ name }) => name.toLowerCase())).toEqual(['a', 'b']);
  });

  test.each([undefined, null, '', '"words"', '{broken', [], {}, 7, { a: 1, b: [] }])('%j is not a form', (given) => {
    expect(parseForm(given)).toEqual({ fields: undefined, lines: [] });
  });

  test('every type is known, a field without one is text, or a choice when it has options', () => {
    const typed = FIELD_TYPES.map((type) => text(type, { type, options: ['x'] }));
    expect(parseForm(typed).fields?.map(({ type }) => type)).toEqual([...FIELD_TYPES]);
    expect(parseForm([{ name: 'a' }, { name: 'b', options: ['x'] }]).fields).toMatchObject([
      { type: 'text', required: false },
      { type: 'select', options: [{ value: 'x' }] },
    ]);
  });

  test.each<[string, unknown]>([
    ['no object', [text('a'), 7]],
    ['no name and no label', [text('a'), { type: 'text' }]],
    ['an unknown type', [text('a', { type: 'file' })]],
    ['a type that is no word', [text('a', { type: [] })]],
    ['a choice of nothing', [text('a', { type: 'select', options: ['', ' '] })]],
    ['25 options', [text('a', { type: 'multi_select', options: choice(25) })]],
    ['the name of another field', [text('a'), text('b', { name: 'a' })]],
    ['a label of 201 characters', [text('a', { label: 'x'.repeat(201) })]],
    ['an option of 201 characters', [text('a', { type: 'select', options: ['x'.repeat(201)] })]],
    ['a placeholder of 201 characters', [text('a', { placeholder: 'x'.repeat(201) })]],
    ['16 others', many(17)],
    ['others of 16,384 bytes together', many(16).map((field) => ({ ...field, type: 'select', options: choice(24) }))],
  ])('a field with %s makes the form text', (_what, given) => {
    expect(parseForm(given).fields).toBeUndefined();
  });

  test('what is within all bounds is a form', () => {
    expect(parseForm(many(16)).fields).toHaveLength(16);
    expect(parseForm([text('a', { type: 'select', options: choice(24) })]).fields?.[0]?.options).toHaveLength(24);
    expect(parseForm([text('a', { label: '😀'.repeat(200) })]).fields).toHaveLength(1);
  });

  test('each field is a line of text, even if it cannot be rendered', () => {
    const fields = [
      text('a', { required: 'true' }),
      text('b', { type: 'multi_select', options: ['x', 'y'], required: true }),
      text('c', { type: 'checkbox' }),
      text('d', { type: 'file' }),
    ];
    expect(parseForm(fields)).toEqual({
      fields: undefined,
      lines: ['A (required)', 'B (any of: x, y; required)', 'C (yes or no)', 'D'],
    });
  });

  test('whatever a model sends, names are unique, and form and lines keep their bounds', () => {
    const word = fc.oneof(fc.string({ maxLength: 300 }), fc.anything({ maxDepth: 1 }));
    const field = fc.record(
      { name: word, label: word, type: fc.oneof(fc.constantFrom(...FIELD_TYPES), word), options: fc.array(word) },
      { requiredKeys: [] },
    );
    const given = fc.oneof(fc.anything({ maxDepth: 2 }), fc.array(fc.oneof(field, word), { maxLength: 20 }));
    fc.assert(
      fc.property(given, (value) => {
        const { fields = [], lines } = parseForm(value);

        expect(new Set(fields.map(({ name }) => name)).size).toBe(fields.length);
        expect(fields.length).toBeLessThanOrEqual(16);
        expect(Buffer.byteLength(JSON.stringify(fields))).toBeLessThanOrEqual(16_384);
        expect(Buffer.byteLength(lines.join(''))).toBeLessThanOrEqual(16_384);
        if (fields.length > 0) expect(lines).toHaveLength(fields.length);
      }),
    );
  });
});
