import { type Message, textOf } from '@caribou/contracts';

/** Whether a person wrote the message; middlewares give the human messages they add a name, or hide them. */
export const isUserMessage = (message: Message): boolean =>
  message.type === 'human' &&
  (message.name ?? 'user-input') === 'user-input' &&
  (message.additional_kwargs['hide_from_ui'] !== true ||
    message.additional_kwargs['human_input_response'] !== undefined);

/** What the person wrote, without blocks that were put in front of it. */
export function userText(message: Message): string {
  const original = message.additional_kwargs['original_user_content'];
  return typeof original === 'string' ? original : textOf(message.content);
}
