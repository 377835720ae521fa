import { z } from 'zod';

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
