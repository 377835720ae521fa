import fc from 'fast-check';
import { cutText, withText } from './result-cut.js';

const note = ({ chars, lines, omitted }: { chars: number; lines: number; omitted: number }): string =>
  `${omitted}/${chars}/${lines}`;

describe(cutText, () => {
  test('keeps beginning and end around the note', () => {
    const text = `Error: a\n${'x'.repeat(500)}\nend`;

    expect(cutText(text, { head: 8, tail: 3 }, note)).toBe('Error: a\n\n[502/513/3]\n\nend');
  });

  test('a part of no characters leaves no gap', () => {
    expect(cutText('x'.repeat(100), { head: 0, tail: 2 }, note)).toBe('[98/100/1]\n\nxx');
    expect(cutText('x'.repeat(100), { head: 0, tail: 0 }, note)).toBe('[100/100/1]');
  });

  test('a text that would not become shorter is not cut', () => {
    expect(cutText('x'.repeat(20), { head: 10, tail: 9 }, note)).toBeUndefined();
    expect(cutText('', { head: 0, tail: 0 }, note)).toBeUndefined();
  });

  test('no character is cut in two, and beginning, end and number are true', () => {
    const text = fc
      .array(fc.constantFrom('a', '😀', '\n', 'é'), { minLength: 60, maxLength: 90 })
      .map((all) => all.join(''));
    const kept = fc.record({ head: fc.nat(15), tail: fc.nat(15) });
    fc.assert(
      fc.property(text, kept, (whole, sizes) => {
        const [, head = '', omitted = '0', tail = ''] =
          /^([^]*?)(?:^|\n\n)\[(\d+) cut\](?:\n\n|$)([^]*)$/.exec(
            cutText(whole, sizes, (facts) => `${facts.omitted} cut`) ?? '',
          ) ?? [];

        expect(whole.startsWith(head)).toBe(true);
        expect(whole.endsWith(tail)).toBe(true);
        expect(head.length + Number(omitted) + tail.length).toBe(whole.length);
        expect([head.length <= sizes.head, tail.length <= sizes.tail]).toEqual([true, true]);
        expect(Buffer.from(head + tail).toString()).toBe(head + tail);
      }),
    );
  });
});

describe(withText, () => {
  test('replaces all text; other parts stay', () => {
    const image = { type: 'image_url', image_url: { url: 'data:,' } };

    expect(withText('long', 'short')).toBe('short');
    expect(withText([{ type: 'text', text: 'a' }, image, 'b'], 'short')).toEqual([
      { type: 'text', text: 'short' },
      image,
    ]);
  });
});
