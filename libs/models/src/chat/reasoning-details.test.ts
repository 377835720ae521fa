import { ReasoningDetails } from './reasoning-details.js';

/** The items of pieces that come one by one. */
function joined(pieces: readonly unknown[]): readonly unknown[] {
  const details = new ReasoningDetails();
  for (const piece of pieces) details.add([piece]);
  return details.items;
}

describe(ReasoningDetails, () => {
  test('joins text by its index and keeps the signature that comes at the end', () => {
    const text = (more: object) => ({ type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0, ...more });
    const pieces = [text({ text: 'let ' }), text({ text: 'me' }), text({ signature: 'sig', text: null })];
    expect(joined(pieces)).toEqual([text({ text: 'let me', signature: 'sig' })]);
    expect(new ReasoningDetails().add([text({ text: 'a' }), null, text({ text: 'b' })])).toBe('ab');
  });

  test('keeps encrypted items of one index apart by their id, and joins the pieces of each', () => {
    const encrypted = (id: string, data: string) => ({ type: 'reasoning.encrypted', id, data, index: 0 });
    const summary = { type: 'reasoning.summary', summary: 'short', index: 0 };
    expect(joined([summary, encrypted('a', 'AA'), encrypted('b', 'BB'), encrypted('a', '==')])).toEqual([
      summary,
      encrypted('a', 'AA=='),
      encrypted('b', 'BB'),
    ]);
  });

  test('without an index joins what follows each other, but no encrypted items', () => {
    const text = (value: string) => ({ type: 'reasoning.text', text: value });
    const encrypted = { type: 'reasoning.encrypted', data: 'x' };
    expect(joined([text('a'), text('b'), encrypted, encrypted, text('c')])).toEqual([
      text('ab'),
      encrypted,
      encrypted,
      text('c'),
    ]);
  });

  test('refuses more than 4 MiB or 1,024 items', () => {
    expect(new ReasoningDetails().add([{ type: 'reasoning.encrypted', data: 'x'.repeat(4 * 1024 * 1024 + 1) }])).toBe(
      undefined,
    );
    const many = Array.from({ length: 1_025 }, (_, index) => ({ type: 'reasoning.text', text: 'x', index }));
    expect(new ReasoningDetails().add(many)).toBeUndefined();
  });
});
