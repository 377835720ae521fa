import type { ModelDelta } from '@caribou/core';
import { DeltaQueue } from './delta-queue.js';

/** What a reader gets that comes after all deltas are in the queue. */
async function readAfter(...deltas: readonly ModelDelta[]): Promise<ModelDelta[]> {
  const queue = new DeltaQueue(() => undefined);
  for (const delta of deltas) queue.push(delta);
  queue.finish();
  const read: ModelDelta[] = [];
  for await (const delta of queue) read.push(delta);
  return read;
}

const texts = (text: string): ModelDelta[] => Array.from(text, (content) => ({ content }));

describe(DeltaQueue, () => {
  test('text that is in the queue before the reader asks for it is joined, sixteen pieces at a time', async () => {
    expect(await readAfter(...texts('abcdefghijklmnopqrstuvwxyz'))).toEqual([
      { content: 'abcdefghijklmnop' },
      { content: 'qrstuvwxyz' },
    ]);
  });

  test('a reader that waits gets the next piece alone', async () => {
    const queue = new DeltaQueue(() => undefined);
    const first = queue.next();
    for (const delta of texts('abc')) queue.push(delta);
    expect([(await first).value, (await queue.next()).value]).toEqual([{ content: 'a' }, { content: 'bc' }]);
  });

  test('text, reasoning, tool calls and the end of an answer are never joined with each other', async () => {
    const call = { index: 0, name: 'ls', args: '{}', id: 'c', type: 'tool_call_chunk' as const };
    const deltas: ModelDelta[] = [
      { reasoning: 'r' },
      { content: 'a' },
      { content: 'b', toolCallChunks: [call] },
      { toolCallChunks: [call] },
      { content: 'c' },
      { finishReason: 'stop', responseMetadata: {} },
    ];
    expect(await readAfter(...deltas)).toEqual(deltas);
    expect(await readAfter({ reasoning: 'r' }, { reasoning: 's' }, { content: 'a' })).toEqual([
      { reasoning: 'rs' },
      { content: 'a' },
    ]);
  });
});
