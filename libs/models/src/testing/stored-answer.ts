import { type AiMessage, isRecord } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';
import type { AnswerOrigin } from '../http/endpoint.js';

/** The message that libs/agent makes of an answer's deltas, with `call-<index>` as the ids of its calls. */
export function storedAnswer(deltas: readonly ModelDelta[], origin: AnswerOrigin): AiMessage {
  const calls: { name: string; args: string }[] = [];
  for (const { index, name, args } of deltas.flatMap(({ toolCallChunks = [] }) => toolCallChunks)) {
    const call = (calls[index] ??= { name: '', args: '' });
    call.name ||= name ?? '';
    call.args += args;
  }
  const extras = deltas.flatMap(({ extras: part }) => (part === undefined ? [] : [part]));
  const parts = extras.flatMap(({ parts: some = [] }) => some).map(withId);
  const ofCalls = Object.assign({}, ...extras.map((part) => part.calls)) as Record<string, unknown>;
  const message = extras.findLast((part) => part.message !== undefined)?.message;
  return {
    type: 'ai',
    id: 'a',
    content: deltas.map(({ content = '' }) => content).join(''),
    additional_kwargs: {},
    response_metadata: {},
    tool_calls: calls.map(({ name, args }, index) => ({
      name,
      args: JSON.parse(args) as Record<string, unknown>,
      id: `call-${index}`,
      type: 'tool_call',
    })),
    invalid_tool_calls: [],
    provider_extras: {
      ...origin,
      parts,
      calls: Object.fromEntries(Object.entries(ofCalls).map(([index, call]) => [`call-${index}`, call])),
      ...(message === undefined ? {} : { message }),
    },
  };
}

const withId = (part: unknown): unknown =>
  isRecord(part) && typeof part['call'] === 'number' ? { call: `call-${part['call']}` } : part;
