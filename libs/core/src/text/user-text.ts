import { type Message, textOf } from '@caribou/contracts';

/** Whether a user wrote the message; human messages added by middlewares have a name or are hidden. */
export const isUserMessage = (message: Message): boolean =>
  message.type === 'human' &&
  (message.name ?? 'user-input') === 'user-input' &&
  (message.additional_kwargs['hide_from_ui'] !== true ||
    message.additional_kwargs['human_input_response'] !== undefined);

/** The text that the user wrote, without blocks that were put in front of it. */
export function userText(message: Message): string {
  const original = message.additional_kwargs['original_user_content'];
  return typeof original === 'string' ? original : textOf(message.content);
}
