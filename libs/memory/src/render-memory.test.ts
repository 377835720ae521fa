import { emptyMemory, type MemoryDocument } from '@caribou/contracts';
import { renderMemory } from './render-memory.js';
import { loadTokenCounter } from './token-counter.js';

const remembering = (facts: number): MemoryDocument => ({
  ...emptyMemory(),
  facts: Array.from({ length: facts }, (_, at) => ({
    id: `fact_${at}`,
    content: `Remembers number ${at}`,
    category: 'knowledge',
    confidence: 0.9,
    createdAt: '2026-03-14T10:00:00Z',
    source: 'unknown',
  })),
});

describe(renderMemory, () => {
  test('a small memory is rendered whole, without a tokenizer', async () => {
    const load = jest.fn(loadTokenCounter);

    expect(await renderMemory(remembering(20), 2_000, load)).toContain('Remembers number 19');
    expect(await renderMemory(emptyMemory(), 100, load)).toBe('');
    expect(load).not.toHaveBeenCalled();
  });

  test('a larger one is counted', async () => {
    const count = await loadTokenCounter();
    const text = await renderMemory(remembering(300), 1_000);

    expect(count(text)).toBeLessThanOrEqual(1_000);
    expect(count(text)).toBeGreaterThan(970);
  });

  test('as many bytes as tokens fit, one more is counted', async () => {
    const load = jest.fn(loadTokenCounter);
    const whole = await renderMemory(remembering(10), 100_000, load);
    const bytes = Buffer.byteLength(whole);

    expect(await renderMemory(remembering(10), bytes, load)).toBe(whole);
    expect(load).not.toHaveBeenCalled();
    expect(await renderMemory(remembering(10), bytes - 1, load)).toBe(whole);
    expect(load).toHaveBeenCalledTimes(1);
  });
});

describe(loadTokenCounter, () => {
  test('it counts as cl100k_base does, and a special token as plain text', async () => {
    const count = await loadTokenCounter();

    expect(count('hello world')).toBe(2);
    expect(count('')).toBe(0);
    expect(count('<|endoftext|>')).toBeGreaterThan(1);
    expect(count('a'.repeat(4_000))).toBe(500);
  });

  test('it is loaded once', () => {
    expect(loadTokenCounter()).toBe(loadTokenCounter());
  });
});
