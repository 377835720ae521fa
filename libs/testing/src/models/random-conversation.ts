import {
  type AiMessage,
  type Content,
  type HumanMessage,
  type Message,
  type ToolMessage,
  omitUndefined,
} from '@caribou/contracts';
import fc from 'fast-check';

const words = fc.string({ maxLength: 60 });

const content: fc.Arbitrary<Content> = fc.oneof(
  { weight: 4, arbitrary: words },
  { weight: 1, arbitrary: fc.constant('') },
  {
    weight: 2,
    arbitrary: fc.array(
      fc.oneof(
        words,
        words.map((text) => ({ type: 'text', text })),
        fc.constant({ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }),
      ),
      { maxLength: 3 },
    ),
  },
);

const common = fc.record({ content, additional_kwargs: fc.constant({}), response_metadata: fc.constant({}) });

const human = common.map((fields): HumanMessage => ({ type: 'human', id: '', ...fields }));
const reminder = common.map(
  (fields): HumanMessage => ({
    type: 'human',
    id: '',
    name: 'loop_warning',
    ...fields,
    additional_kwargs: { hide_from_ui: true },
  }),
);

/** Unusual usage reports of providers. */
const usage = fc.option(
  fc.record({ input_tokens: fc.nat({ max: 2000 }), output_tokens: fc.nat({ max: 200 }), total_tokens: fc.nat() }),
  { nil: undefined },
);

/** An answer with `calls` calls, of which the first `answered` have results. */
const turn = (cancelled: boolean): fc.Arbitrary<readonly Message[]> =>
  fc
    .record({
      said: common,
      calls: fc.nat({ max: 4 }),
      missing: cancelled ? fc.nat({ max: 4 }) : fc.constant(0),
      results: fc.array(common, { minLength: 4, maxLength: 4 }),
      counted: usage,
    })
    .map(({ said, calls, missing, results, counted }) => {
      const ids = Array.from({ length: calls }, (_, index) => `call-${index}`);
      const asking: AiMessage = {
        type: 'ai',
        id: '',
        ...said,
        invalid_tool_calls: [],
        tool_calls: ids.map((id) => ({ type: 'tool_call', id, name: 'bash', args: { command: id } })),
        ...omitUndefined({ usage_metadata: counted }),
      };
      const answered = results.slice(0, Math.max(0, calls - missing)).map(
        (fields, index): ToolMessage => ({
          type: 'tool',
          id: '',
          ...fields,
          name: 'bash',
          status: 'success',
          tool_call_id: ids[index] ?? '',
        }),
      );
      return [asking, ...answered];
    });

/**
 * Conversations of user messages, framework notes and answers with parallel calls, every id once. With
 * `cancelled`, calls may have no result, as runs that were stopped leave them.
 */
export function randomConversation({ cancelled }: { readonly cancelled: boolean }): fc.Arbitrary<readonly Message[]> {
  const part = fc.oneof(
    { weight: 2, arbitrary: human.map((message): readonly Message[] => [message]) },
    { weight: 1, arbitrary: reminder.map((message): readonly Message[] => [message]) },
    { weight: 4, arbitrary: turn(cancelled) },
  );
  return fc.array(part, { maxLength: 14 }).map((parts) => parts.flatMap(numbered));
}

/** Makes the ids of messages and calls unique by the number of their part. */
const numbered = (part: readonly Message[], at: number): readonly Message[] =>
  part.map((message, index) => {
    const id = `m${at}.${index}`;
    if (message.type === 'tool') return { ...message, id, tool_call_id: `${at}.${message.tool_call_id}` };
    if (message.type !== 'ai') return { ...message, id };
    return { ...message, id, tool_calls: message.tool_calls.map((call) => ({ ...call, id: `${at}.${call.id}` })) };
  });
