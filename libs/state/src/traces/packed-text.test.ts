import fc from 'fast-check';
import { packText, unpackText } from './packed-text.js';
import { stepPhrases } from './phrases.js';

const step = (more: object = {}): string =>
  JSON.stringify({
    ...{ n: 3, x: 'm', b: 951, p: 2 },
    c: [
      {
        ...{ a: 5, m: 'gpt', u: 'api.openai.com/v1', f: 4, d: 4, i: 1207, o: 40, s: 'stop', g: '0b9f8a52' },
        q: {
          s: 'aBtN',
          t: 'gRzG',
          p: { thinking_enabled: false },
          l: ['LD9X', { f: 0, e: [[71, 0, '<user_input>\n']] }],
        },
      },
    ],
    h: [1, [['memory', 0, 1, 'handed over']]],
    ...more,
  });

const stored = async (text: string): Promise<Buffer> => Buffer.from(await packText(text));

describe('the stored text of a step', () => {
  test.each([
    ['a very short one', '{"n":2,"x":"m","b":443}'],
    ['one of a plain turn', step()],
    ['one with other characters', step({ note: 'Grüße – 👋 \u2028 \u007f' })],
    ['one of a thousand characters', step({ note: 'x y z '.repeat(150) })],
    ['one of 6 kB', step({ note: 'x y z '.repeat(1_000) })],
  ])('%s is read as it was written', async (_, text) => {
    const form = await stored(text);
    expect(await unpackText(form)).toBe(text);
    expect(form.length).toBeLessThanOrEqual(Buffer.byteLength(text));
  });

  test('of a plain turn is less than half as long', async () => {
    expect((await stored(step())).length).toBeLessThan(step().length / 2);
  });

  test('that is compressed, as earlier versions stored it, is read too', async () => {
    const form =
      '/gM71Rjh+iQlK0tTQwxXm8KdjSd005SsTMBuNwE73tDIwBzsARMDTC8kWaZZJJoaIfsk0anED+qb9KAqdyJ95ONiGaGkUw2y3ACcxKKjzQ11DHSUb' +
      'EqLU4viM/MKSkvsYvKUYmNrEb4GR3huam4+KN0bgGI2IzEvJTVFIb8stUgpNja2FgA=';
    expect(await unpackText(Buffer.from(form, 'base64'))).toBe(step());
  });

  test('any JSON has the same text after it was abbreviated and expanded', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const text = JSON.stringify(JSON.parse(json));
        expect(stepPhrases.expand(stepPhrases.abbreviate(text))).toBe(text);
      }),
    );
    expect(stepPhrases.expand(stepPhrases.abbreviate(step()))).toBe(step());
  });
});
