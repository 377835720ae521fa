import { ByteCounter } from './byte-counter.js';

async function* chunks(...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield await Promise.resolve(Buffer.alloc(size));
}

const sizesOf = async (count: AsyncIterable<Uint8Array>, seen: number[] = []): Promise<readonly number[]> => {
  for await (const chunk of count) seen.push(chunk.byteLength);
  return seen;
};

describe(ByteCounter, () => {
  test('passes chunks on up to the limit of all streams together, and nothing beyond it', async () => {
    const counter = new ByteCounter(10, new AbortController().signal);
    expect(await sizesOf(counter.count(chunks(4, 2)))).toEqual([4, 2]);
    const seen: number[] = [];
    await expect(sizesOf(counter.count(chunks(4, 1)), seen)).rejects.toThrow(
      'the archive unpacks to more than 10 bytes',
    );
    expect([seen, counter.bytes]).toEqual([[4], 11]);
  });

  test('stops when its signal is aborted', async () => {
    const controller = new AbortController();
    const counter = new ByteCounter(10, controller.signal);
    controller.abort(new Error('enough'));
    await expect(sizesOf(counter.count(chunks(1)))).rejects.toThrow('enough');
  });
});
