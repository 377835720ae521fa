import { ModelError } from '@caribou/contracts';
import fc from 'fast-check';
import { parseExtraction } from './parse-extraction.js';

const answer = {
  user: {
    workContext: { summary: 'Builds ships.', shouldUpdate: true },
    topOfMind: { summary: 'x', shouldUpdate: false },
  },
  history: { recentMonths: { summary: 'Moved.', shouldUpdate: true } },
  newFacts: [{ content: 'Lives in Oslo', category: 'context', confidence: 0.9, from: [1] }],
  factsToRemove: ['fact_1'],
};
const expected = {
  sections: { workContext: 'Builds ships.', recentMonths: 'Moved.' },
  newFacts: [{ content: 'Lives in Oslo', category: 'context', confidence: 0.9, from: [1] }],
  factsToRemove: ['fact_1'],
};
const json = JSON.stringify(answer);

describe(parseExtraction, () => {
  test.each([
    ['plain JSON', json],
    ['a code fence', `\`\`\`json\n${json}\n\`\`\``],
    ['a fence without its language', `Here it is:\n\`\`\`\n${json}\n\`\`\`\nDone.`],
    ['prose around it', `Sure! ${json} I hope that helps.`],
    ['thoughts before it', `<think>{"user": maybe {} }</think>\n${json}`],
    ['trailing commas', json.replaceAll('}', ',}').replaceAll(']', ',]')],
    ['single quotes', json.replaceAll('"', "'")],
    ['Python words', json.replaceAll('true', 'True').replaceAll('false', 'False')],
    ['comments', json.replace('"newFacts"', '/* what is new */ "newFacts"')],
    ['keys without quotes', json.replaceAll(/"(\w+)":/g, '$1:')],
    ['a missing last brace', json.slice(0, -1)],
    ['faults with prose around them', `Sure! ${json.replaceAll('}', ',}')} I hope that helps.`],
  ])('reads %s', (_, text) => {
    expect(parseExtraction(text)).toEqual(expected);
  });

  test.each(['', 'I have nothing to add.', '[]', '"x"', '{}', '{"a":1}', '<think>{"newFacts":[]}', '{{{{', 'null'])(
    'refuses %j',
    (text) => {
      expect(() => parseExtraction(text)).toThrow(ModelError);
    },
  );

  test('an answer that changes nothing is valid', () => {
    expect(parseExtraction('{"newFacts":[],"factsToRemove":[]}')).toEqual({
      sections: {},
      newFacts: [],
      factsToRemove: [],
    });
  });

  test('invalid parts are ignored, and the rest counts', () => {
    const text = JSON.stringify({
      user: { workContext: 'no section', personalContext: { summary: 7, shouldUpdate: true }, unknown: {} },
      history: [],
      newFacts: [
        'a text',
        null,
        { content: '  ' },
        { content: 7 },
        { content: 'bare' },
        { content: 'odd', category: 'gossip', confidence: '0.8', from: 'x' },
        { content: 'loud', confidence: 7 },
        { content: 'empty', confidence: '' },
        { content: 'a &lt;b&gt; &amp;lt;', confidence: 1, from: ['1', 3] },
      ],
      factsToRemove: ['f1', 2, null],
    });
    expect(parseExtraction(text)).toEqual({
      sections: {},
      newFacts: [
        { content: 'bare', category: 'context', confidence: 0.5 },
        { content: 'odd', category: 'context', confidence: 0.8 },
        { content: 'loud', category: 'context', confidence: 0.5 },
        { content: 'empty', category: 'context', confidence: 0.5 },
        { content: 'a <b> &lt;', category: 'context', confidence: 1, from: [1, 3] },
      ],
      factsToRemove: ['f1'],
    });
  });

  test('an endless list is cut', () => {
    const newFacts = Array.from({ length: 5_000 }, (_, at) => ({ content: `fact ${at}`, confidence: 1 }));
    expect(parseExtraction(JSON.stringify({ newFacts })).newFacts).toHaveLength(100);
  });

  test('every answer is either parsed or refused with a ModelError', () => {
    const piece = fc.oneof(
      fc.constantFrom('{', '}', '"', ':', '[', ']', ',', '```', 'newFacts', '\\', '\n'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        try {
          parseExtraction(pieces.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(ModelError);
        }
      }),
    );
    fc.assert(
      fc.property(fc.json(), (text) => {
        try {
          parseExtraction(`{"newFacts":[${text}],"user":${text},"factsToRemove":${text}}`);
        } catch (error) {
          expect(error).toBeInstanceOf(ModelError);
        }
      }),
    );
  });
});
