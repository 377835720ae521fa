import { type HumanMessage, newId } from '@caribou/contracts';

/**
 * A message of a middleware to the model that clients do not show. Its type is human, because some providers refuse
 * system messages in the middle of a conversation; its name distinguishes it from a user's.
 */
export const createHiddenMessage = (name: string, text: string): HumanMessage => ({
  type: 'human',
  id: `${name}:${newId()}`,
  name,
  content: text,
  additional_kwargs: { hide_from_ui: true },
  response_metadata: {},
});
