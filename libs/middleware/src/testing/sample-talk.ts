import type { AiMessage, Message } from '@caribou/contracts';
import { humanMessage } from '@caribou/testing';

/** An answer whose text is its id. */
export const answer = (id: string, fields: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id,
  content: id,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
  ...fields,
});

/** Three messages of the user and two answers. */
export const talk: readonly Message[] = [
  humanMessage('h1', 'h1'),
  answer('a1'),
  humanMessage('h2', 'h2'),
  answer('a2'),
  humanMessage('h3', 'h3'),
];
