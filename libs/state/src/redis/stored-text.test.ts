import { ai, human } from '@caribou/testing';
import { resultText } from '../testing/tool-results.js';
import { compressShared, compressTexts, expandText, expandTexts, toStoredText, withTexts } from './stored-text.js';

const json = (text: string): string => JSON.stringify(human(text));
const compressed = async (text: string): Promise<Buffer> => {
  const [stored] = await compressTexts([text]);
  if (!Buffer.isBuffer(stored)) throw new Error('the text was not compressed');
  return stored;
};

describe(compressTexts, () => {
  test('long texts are compressed, short ones stay as they are', async () => {
    const [source, short] = [json(resultText(0, 2_048)), json('short')];

    const [compact, unchanged] = await compressTexts([source, short]);

    expect(Buffer.isBuffer(compact)).toBe(true);
    expect(compact?.length).toBeLessThan(source.length / 2);
    expect(unchanged).toBe(short);
    expect(await expandTexts([compact ?? '', short])).toEqual([source, short]);
  });

  test('more than one turn of the event loop may take is compressed as well, in order', async () => {
    const texts = [
      ...Array.from({ length: 200 }, (_, index) => json(resultText(index, 2_048))),
      json(resultText(1, 300_000)),
      JSON.stringify(ai('Ünïcödé \ud83d\ude00 and half of one: \ud83d '.repeat(100))),
    ];

    const stored = await compressTexts(texts);

    expect(stored.every((form) => Buffer.isBuffer(form))).toBe(true);
    expect(await expandTexts(stored)).toEqual(texts);
  });
});

describe('a short text that is mostly names', () => {
  const answer = (content: string): string =>
    JSON.stringify({
      ...{ type: 'ai', id: '943e681d-2149-49b9-8c69-a5eb536dc10e', content },
      additional_kwargs: {
        token_usage_attribution: {
          ...{ version: 1, kind: 'final_answer', shared_attribution: false, tool_call_ids: [], actions: [] },
        },
      },
      response_metadata: { model_name: 'gpt', system_fingerprint: 'fp', finish_reason: 'stop' },
      ...{ tool_calls: [], invalid_tool_calls: [] },
      usage_metadata: {
        ...{ input_tokens: 1723, output_tokens: 40, total_tokens: 1763 },
        ...{ input_token_details: { cache_read: 0 }, output_token_details: { reasoning: 0 } },
      },
    });
  const FORM = 0xfc;

  test.each(['Yes.', 'Grüße – 👋 \n\t"quoted" \u2028', '\ud83d half'])(
    '%j is abbreviated and read again',
    async (content) => {
      const form = await compressed(answer(content));

      expect(form[0]).toBe(FORM);
      expect(form.length).toBeLessThan(Buffer.byteLength(answer(content)) / 2);
      expect(form.readUInt32BE(1)).toBe(Buffer.byteLength(answer(content)));
      expect(await expandTexts(['', form, answer(content)])).toEqual(['', answer(content), answer(content)]);
    },
  );

  test('is not abbreviated where it is no JSON and has characters that are codes', async () => {
    const text = `${answer('Yes.')}\n`;
    const form = await compressed(text);
    expect(form[0]).not.toBe(FORM);
    expect(await expandText(form)).toBe(text);
  });

  test('is compressed when its content is most of it', async () => {
    const form = await compressed(answer('word '.repeat(80)));
    expect(form[0]).not.toBe(FORM);
  });

  test('written by this version stays readable', async () => {
    const form = await compressed(answer('Yes.'));
    expect(form.toString('base64')).toMatchInlineSnapshot(
      `"/AAAAfcCOTQzZTY4MWQtMjE0OS00OWI5LThjNjktYTVlYjUzNmRjMTBlBFllcy4HGQhncHQMZnANMTcyMxI0MBMxNzYzFDAVMB0="`,
    );
  });
});

describe(compressShared, () => {
  const texts = ['', ...Array.from({ length: 40 }, (_, at) => `${at} `.repeat(300)), 'short'];

  test('known and unknown texts have the form that compressTexts gives them, in order', async () => {
    const known = await compressShared(texts.filter((_, at) => at % 3 === 0));

    expect(await compressShared([...texts, ...texts])).toEqual([
      ...(await compressTexts(texts)),
      ...(await compressTexts(texts)),
    ]);
    expect(known).toEqual(await compressTexts(texts.filter((_, at) => at % 3 === 0)));
  });

  test('a text that is known is not compressed again', async () => {
    const [first] = await compressShared(['once '.repeat(200)]);
    const [second] = await compressShared(['once '.repeat(200)]);

    expect(first).toBeInstanceOf(Buffer);
    expect(second).toBe(first);
  });

  test('many at once leave the event loop its turns', async () => {
    const many = Array.from({ length: 30 }, (_, at) => `${at} of many `.repeat(1_000));
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    await compressShared(many);
    clearInterval(counting);

    // 300 KiB in turns of 16 KiB.
    expect(turns).toBeGreaterThan(0);
  });
});

describe(expandText, () => {
  test('a text that is compressed with the first dictionary stays readable', async () => {
    const message = {
      ...{ type: 'ai', id: 'a1', content: 'the same again, '.repeat(30), additional_kwargs: {} },
      ...{ response_metadata: { model_name: 'm', finish_reason: 'stop' }, tool_calls: [], invalid_tool_calls: [] },
    };
    const form = '/wAAAoHDEpCJhihBWZKRqlCcmJuqkJiemJmnozDKH158SrJKLpa8QlpBVQsA';

    expect(JSON.parse(await expandText(Buffer.from(form, 'base64')))).toEqual(message);
  });

  test('a damaged text, or one in an unknown form, is refused', async () => {
    const form = await compressed(json(resultText(0, 2_048)));

    await expect(expandText(form.subarray(0, 200))).rejects.toThrow('damaged');
    await expect(expandText(Buffer.concat([Buffer.from([0xfe]), form.subarray(1)]))).rejects.toThrow('does not know');
  });
});

describe(withTexts, () => {
  test('buffers of a reply become texts, but for those in a binary form', async () => {
    const form = await compressed(json(resultText(0, 2_048)));

    expect(withTexts([Buffer.from('ok'), 1, null, [Buffer.from('é'), form]])).toEqual(['ok', 1, null, ['é', form]]);
    expect(toStoredText(Buffer.from(''))).toBe('');
  });
});
