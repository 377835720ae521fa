import { usageOf } from './usage.js';

const counts = { prompt_tokens: 100, completion_tokens: 20 };

describe(usageOf, () => {
  test.each([
    ['OpenAI', { prompt_tokens_details: { cached_tokens: 80 } }, { cache_read: 80 }],
    ['DeepSeek', { prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }, { cache_read: 64 }],
    ['Kimi', { cached_tokens: 50 }, { cache_read: 50 }],
    [
      'OpenRouter',
      { prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 90 } },
      { cache_read: 10, cache_creation: 90 },
    ],
    ['a gateway to Anthropic', { cache_creation_input_tokens: 30 }, { cache_creation: 30 }],
  ])('reads the cached tokens of %s', (_, more, details) => {
    expect(usageOf({ ...counts, total_tokens: 120, ...more })).toEqual({
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
      input_token_details: details,
    });
  });

  test('adds thoughts that Gemini leaves out of the answer, by the total', () => {
    expect(usageOf({ ...counts, total_tokens: 170 })).toEqual({
      input_tokens: 100,
      output_tokens: 70,
      total_tokens: 170,
      output_token_details: { reasoning: 50 },
    });
  });

  test('counts reasoning that is part of the answer once', () => {
    expect(usageOf({ ...counts, total_tokens: 120, completion_tokens_details: { reasoning_tokens: 15 } })).toEqual({
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
      output_token_details: { reasoning: 15 },
    });
  });

  test('is undefined without both counts, and does not trust a total below their sum', () => {
    expect(usageOf({ prompt_tokens: 1 })).toBeUndefined();
    expect(usageOf({ prompt_tokens: 1, completion_tokens: -2 })).toBeUndefined();
    expect(usageOf({ ...counts, total_tokens: 3 })).toMatchObject({ total_tokens: 120 });
  });
});
