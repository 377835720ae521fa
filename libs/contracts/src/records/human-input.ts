import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isRecord } from '../common/is-record.js';
import type { HumanMessage, Message } from './messages.js';

const MAX_ID_CHARS = 255;
/** An answer to a form is a summary with all values of up to 16 fields. */
const MAX_VALUE_CHARS = 65_536;

const answer = {
  version: z.literal(1),
  kind: z.literal('human_input_response'),
  source: z.string().min(1).max(MAX_ID_CHARS),
  /** The id of the tool message that asked: `clarification:<tool call id>`. */
  request_id: z.string().min(1).max(MAX_ID_CHARS),
  value: z.string().max(MAX_VALUE_CHARS),
};

/**
 * A user's answer to a question of the agent, in `additional_kwargs.human_input_response` of the answering message. The
 * agent reads the message's content; web clients use this field to close the question. An answer to a form has the form
 * of text.
 */
export const HumanInputResponse = z.discriminatedUnion('response_kind', [
  z.object({ ...answer, response_kind: z.literal('text') }),
  z.object({ ...answer, response_kind: z.literal('option'), option_id: z.string().min(1).max(MAX_ID_CHARS) }),
]);
export type HumanInputResponse = z.infer<typeof HumanInputResponse>;

/** A question that ended a run and that no message of the user follows. */
export interface OpenQuestion {
  /** Identifies it like an interrupt: 32 hexadecimal digits. */
  readonly id: string;
  /** Id of the tool message that asks. */
  readonly requestId: string;
  /** The question as web clients render it: `artifact.human_input` of the message. */
  readonly value: Readonly<Record<string, unknown>>;
}

/** The open questions of a thread: those among the tool messages at its end. */
export function openQuestionsIn(messages: readonly Message[]): readonly OpenQuestion[] {
  const end = messages.findLastIndex(({ type }) => type !== 'tool');
  return messages.slice(end + 1).flatMap((message) => {
    if (message.type !== 'tool' || !isRecord(message.artifact)) return [];
    const value = message.artifact['human_input'];
    if (!isRecord(value) || value['kind'] !== 'human_input_request') return [];
    const id = createHash('sha256')
      .update(JSON.stringify(['question', message.id]))
      .digest('hex')
      .slice(0, 32);
    return [{ id, requestId: message.id, value }];
  });
}

/** The message of the user that answers a question, as web clients send it; values that are no text are sent as JSON. */
export function toAnswerMessage({ requestId, value }: OpenQuestion, answer: unknown, messageId: string): HumanMessage {
  const text = (typeof answer === 'string' ? answer : JSON.stringify(answer ?? null)).slice(0, MAX_VALUE_CHARS);
  const options: readonly unknown[] = Array.isArray(value['options']) ? value['options'] : [];
  const option = options.find((one) => isRecord(one) && one['value'] === text);
  const chosen = isRecord(option) && typeof option['id'] === 'string' ? option['id'] : undefined;
  const common = {
    version: 1,
    kind: 'human_input_response',
    source: 'ask_clarification',
    request_id: requestId,
    value: text,
  };
  const response: HumanInputResponse = HumanInputResponse.parse(
    chosen === undefined
      ? { ...common, response_kind: 'text' }
      : { ...common, response_kind: 'option', option_id: chosen },
  );
  return {
    type: 'human',
    id: messageId,
    content: text,
    additional_kwargs: { human_input_response: response },
    response_metadata: {},
  };
}
