import { deflateRawSync } from 'node:zlib';
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
    const dictionary = Buffer.from(
      '"x":["ModelError","the model endpoint "],"q":{"s":"","t":"","p":{"reasoning_effort":"medium","temperature":0,"max_tokens":,' +
        '"thinking_enabled":true,"thinking_enabled":false}"y":"retry","y":"fallback","z":"error","z":"aborted","z":"unknown",' +
        '"z":"interrupted","s":"tool_calls","k":2,"e":0,"r":,"m":"bash","m":"read_file","m":"write_file","g":"call_"}],"t":[{"a":' +
        '"u":"api.anthropic.com/v1","u":"api.openai.com/v1","w":"middleware","h":[0.1,[["thread-context",1.,1],["title",1,1,"cut"],' +
        '["llm-error","x":"t","x":"m","o":{"n":1,"b":,"p":2,"c":[{"a":,"m":"gpt-","v":"gpt-5","u":"","f":,"d":,"i":,"o":,"s":"stop",' +
        '"g":"0","q":{"s":"","t":"","p":{"thinking_enabled":false},"l":["",[0,1]]}}],"h":[',
    );
    const earlier = Buffer.concat([
      Buffer.of(0xfe),
      deflateRawSync(step(), { dictionary, memLevel: 4, windowBits: 12 }),
    ]);
    expect(await unpackText(earlier)).toBe(step());
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
