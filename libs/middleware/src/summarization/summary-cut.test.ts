import type { ContextSize } from '@caribou/config';
import type { AiMessage, Message, ToolMessage } from '@caribou/contracts';
import { isUserMessage } from '@caribou/core';
import { humanMessage, randomConversation, transcriptFaults } from '@caribou/testing';
import fc from 'fast-check';
import { repairToolCalls } from '../model-calls/dangling-tool-call.js';
import { type Cut, cutMessages } from './summary-cut.js';

const common = { content: '', additional_kwargs: {}, response_metadata: {} };
const ai = (id: string, ...calls: string[]): AiMessage => ({
  type: 'ai',
  id,
  ...common,
  invalid_tool_calls: [],
  tool_calls: calls.map((call) => ({ type: 'tool_call', id: call, name: 'bash', args: {} })),
});
const tool = (id: string, call: string): ToolMessage => ({
  type: 'tool',
  id,
  ...common,
  name: 'bash',
  status: 'success',
  tool_call_id: call,
});
const human = (id: string): Message => humanMessage(id, id);
const last = (value: number): ContextSize => ({ type: 'messages', value });
const ids = (messages: readonly Message[]): readonly string[] => messages.map(({ id }) => id);
const kept = (messages: readonly Message[], keep: ContextSize): readonly string[] =>
  ids(cutMessages(messages, keep, undefined).kept);

const size: fc.Arbitrary<ContextSize> = fc.oneof(
  fc.integer({ min: 1, max: 12 }).map(last),
  fc.integer({ min: 1, max: 400 }).map((value) => ({ type: 'tokens' as const, value })),
  fc.constantFrom(0.01, 0.2, 1).map((value) => ({ type: 'fraction' as const, value })),
);
const limit = fc.constantFrom(undefined, 100, 5000);

/** Holds `check` for cuts of random conversations. */
function holds(cancelled: boolean, check: (messages: readonly Message[], cut: Cut) => void): void {
  fc.assert(
    fc.property(randomConversation({ cancelled }), size, limit, (messages, keep, maxInputTokens) =>
      check(messages, cutMessages(messages, keep, maxInputTokens)),
    ),
    { numRuns: 300 },
  );
}

describe(cutMessages, () => {
  test('the newest messages stay, the others go', () => {
    const messages = [human('h1'), ai('a1'), human('h2'), ai('a2'), human('h3')];

    expect(ids(cutMessages(messages, last(2), undefined).removed)).toEqual(['h1', 'a1', 'h2']);
    expect(kept(messages, last(2))).toEqual(['a2', 'h3']);
  });

  test('an answer and its parallel results stay together, so more stays than asked (C1)', () => {
    const messages = [human('h1'), ai('a1'), human('h2'), ai('a2', 'x', 'y', 'z'), tool('x1', 'x'), tool('y1', 'y')];
    const whole = [...messages, tool('z1', 'z')];

    expect(kept(whole, last(2))).toEqual(['h2', 'a2', 'x1', 'y1', 'z1']);
  });

  test('a result that is separated from its answer keeps it too', () => {
    const messages = [human('h1'), ai('a1', 'x', 'y'), tool('x1', 'x'), human('h2'), tool('y1', 'y')];

    expect(kept(messages, last(1))).toEqual(['a1', 'x1', 'h2', 'y1']);
  });

  test('ids that come again belong to the newest answer that asked', () => {
    const messages = [ai('a1', 'c'), tool('c1', 'c'), human('h1'), ai('a2', 'c'), tool('c2', 'c')];

    expect(kept(messages, last(1))).toEqual(['h1', 'a2', 'c2']);
  });

  test('the newest message stays with what belongs to it, however large (C2)', () => {
    const messages = [
      human('h1'),
      ai('a1'),
      human('h2'),
      ai('a2', 'x'),
      { ...tool('x1', 'x'), content: 'x'.repeat(9999) },
    ];

    expect(kept(messages, { type: 'tokens', value: 1 })).toEqual(['h2', 'a2', 'x1']);
  });

  test("the user's last message stays though answers since fill the rest, framework notes do not (C3)", () => {
    const note: Message = { ...humanMessage('mind', 'n1'), name: 'loop_warning' };
    const hidden: Message = { ...humanMessage('mind', 'n2'), additional_kwargs: { hide_from_ui: true } };
    const messages = [human('h1'), human('h2'), ai('a1'), note, hidden, ai('a2'), ai('a3')];

    expect(kept(messages, last(1))).toEqual(['h2', 'a3']);
  });

  test("an answer to a question of the agent is hidden and still the user's (C3)", () => {
    const reply: Message = {
      ...humanMessage('yes', 'r1'),
      additional_kwargs: { hide_from_ui: true, human_input_response: {} },
    };

    expect(kept([human('h1'), ai('a1'), reply, ai('a2'), ai('a3')], last(1))).toEqual(['r1', 'a3']);
  });

  test('system messages stay (C3)', () => {
    const system: Message = { type: 'system', id: 's1', ...common, content: 'be brief' };

    expect(kept([system, human('h1'), ai('a1'), human('h2')], last(1))).toEqual(['s1', 'h2']);
  });

  test('the last answer stays with its results while a call of it has none, earlier ones do not (C3)', () => {
    const broken: AiMessage = {
      ...ai('a3'),
      invalid_tool_calls: [{ type: 'invalid_tool_call', id: 'w', name: 'bash', args: '{', error: 'cut' }],
    };
    const before = [ai('a1', 'u'), human('h1'), ai('a2', 'x', 'y'), tool('x1', 'x'), human('h2')];

    expect(kept(before, last(1))).toEqual(['a2', 'x1', 'h2']);
    expect(kept([human('h1'), broken, human('h2')], last(1))).toEqual(['a3', 'h2']);
    expect(kept([...before.slice(0, 4), tool('y1', 'y'), human('h2')], last(1))).toEqual(['h2']);
  });

  test('an empty thread has nothing to cut', () => {
    expect(cutMessages([], last(1), undefined)).toEqual({ removed: [], kept: [] });
  });

  test('what was a legal transcript stays one, and cancelled runs add no fault by the cut (C1)', () => {
    holds(false, (messages, { kept: rest }) => {
      expect(transcriptFaults(messages)).toEqual([]);
      expect(transcriptFaults(rest)).toEqual([]);
    });
    holds(true, (messages, { kept: rest }) => {
      expect(transcriptFaults(rest).length).toBeLessThanOrEqual(transcriptFaults(messages).length);
      expect(transcriptFaults(repairToolCalls(rest))).toEqual([]);
    });
  });

  test('every message goes or stays, in order and as it was; the newest always stays (C2)', () => {
    holds(true, (messages, { removed, kept: rest }) => {
      const gone = new Set(removed);
      const expected = messages.filter((message) => !gone.has(message));
      expect(removed).toHaveLength(messages.length - rest.length);
      rest.forEach((message, index) => expect(message).toBe(expected[index]));
      expect(rest.at(-1)).toBe(messages.at(-1));
    });
  });

  test("the user's last message is never removed (C3)", () => {
    holds(true, (messages, { kept: rest }) => {
      expect(rest.findLast(isUserMessage)).toBe(messages.findLast(isUserMessage));
    });
  });

  test('a second cut removes nothing (C4)', () => {
    fc.assert(
      fc.property(randomConversation({ cancelled: true }), size, limit, (messages, keep, maxInputTokens) => {
        const once = cutMessages(messages, keep, maxInputTokens).kept;

        expect(cutMessages(once, keep, maxInputTokens).removed).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
