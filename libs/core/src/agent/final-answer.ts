import { type AiMessage, type Message, textOf } from '@caribou/contracts';

/** Whether the message is an answer a person reads as the end of a turn: words, no tool calls, no notice of a failure. */
export const isFinalAnswer = (message: Message): message is AiMessage =>
  message.type === 'ai' &&
  message.tool_calls.length === 0 &&
  message.additional_kwargs['deerflow_error_fallback'] !== true &&
  textOf(message.content).trim() !== '';
