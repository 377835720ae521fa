import type { ThreadState } from '@caribou/contracts';
import { applyUpdate, isUserMessage, type Step } from '@caribou/core';
import { fakeRun, modelFailure, randomConversation, scriptedModel, transcriptFaults } from '@caribou/testing';
import fc from 'fast-check';
import { repairToolCalls } from '../model-calls/dangling-tool-call.js';
import { summarization, type SummarizationOptions } from './summarization.js';

const settings: fc.Arbitrary<SummarizationOptions> = fc.record({
  trigger: fc.constantFrom({ type: 'messages', value: 1 } as const, { type: 'tokens', value: 60 } as const, [
    { type: 'fraction', value: 0.1 } as const,
    { type: 'messages', value: 9 } as const,
  ]),
  keep: fc.constantFrom(
    { type: 'messages', value: 3 } as const,
    { type: 'tokens', value: 40 } as const,
    { type: 'fraction', value: 0.05 } as const,
  ),
  trim_tokens_to_summarize: fc.constantFrom(null, 500),
});

async function before(from: ThreadState, options: SummarizationOptions, fails: boolean): Promise<Step | undefined> {
  const answer = fails ? { error: modelFailure({ reason: 'connection' }) } : { content: 'It went on.' };
  const model = { ...scriptedModel([answer]), maxInputTokens: 500 };
  return summarization({ ...options, enabled: true }, { model: () => model }).beforeModel?.(from, fakeRun());
}

interface Summed {
  readonly from: ThreadState;
  readonly after: ThreadState;
  readonly options: SummarizationOptions;
}

/** Holds `check` for what becomes of random conversations. */
const holds = (
  { cancelled, fails }: { readonly cancelled: boolean; readonly fails: boolean },
  check: (summed: Summed) => Promise<void> | void,
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(randomConversation({ cancelled }), settings, async (messages, options) => {
      const from: ThreadState = { messages: [...messages], summary_text: 'Before.' };
      const after = applyUpdate(from, (await before(from, options, fails))?.update ?? {});
      await check({ from, after, options });
    }),
    { numRuns: 150 },
  );

describe('any conversation and settings', () => {
  test('a legal transcript stays legal, and one that a cancel left open can be repaired', async () => {
    await holds({ cancelled: false, fails: false }, ({ after }) => {
      expect(transcriptFaults(after.messages)).toEqual([]);
    });
    await holds({ cancelled: true, fails: false }, ({ from, after }) => {
      expect(transcriptFaults(after.messages).length).toBeLessThanOrEqual(transcriptFaults(from.messages).length);
      expect(transcriptFaults(repairToolCalls(after.messages))).toEqual([]);
    });
  });

  test("the user's last message stays, and what stays keeps its order and identity", async () => {
    await holds({ cancelled: true, fails: false }, ({ from, after }) => {
      expect(after.messages.findLast(isUserMessage)).toBe(from.messages.findLast(isUserMessage));
      const kept = new Set(after.messages);
      const expected = from.messages.filter((message) => kept.has(message));
      expect(after.messages).toHaveLength(expected.length);
      after.messages.forEach((message, index) => expect(message).toBe(expected[index]));
      expect(after.messages.at(-1)).toBe(from.messages.at(-1));
    });
  });

  test('messages go with a new summary, and only with one (S1)', async () => {
    await holds({ cancelled: true, fails: false }, ({ from, after }) => {
      const gone = after.messages.length < from.messages.length;
      expect(after.summary_text).toBe(gone ? 'It went on.' : 'Before.');
    });
    await holds({ cancelled: true, fails: true }, ({ from, after }) => {
      expect(after.messages).toEqual(from.messages);
      expect(after.summary_text).toBe('Before.');
    });
  });

  test('after a summary there is nothing to summarize until messages come', async () => {
    let summaries = 0;
    await holds({ cancelled: true, fails: false }, async ({ from, after, options }) => {
      if (after.messages.length === from.messages.length) return;
      summaries += 1;
      expect(await before(after, options, false)).toBeUndefined();
    });
    expect(summaries).toBeGreaterThan(20);
  });
});
