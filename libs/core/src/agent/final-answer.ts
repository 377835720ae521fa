import { type AiMessage, type Message, textOf } from '@caribou/contracts';

/** Whether the message is the final answer of a turn: text without tool calls that is not a failure notice. */
export const isFinalAnswer = (message: Message): message is AiMessage =>
  message.type === 'ai' &&
  message.tool_calls.length === 0 &&
  message.additional_kwargs['deerflow_error_fallback'] !== true &&
  textOf(message.content).trim() !== '';
