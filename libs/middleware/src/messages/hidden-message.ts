import { type HumanMessage, newId } from '@caribou/contracts';

/**
 * A message of ours to the model that no page shows. A human one: some providers refuse a system message in the middle
 * of a conversation. Its name tells it from a person's.
 */
export const hiddenMessage = (name: string, text: string): HumanMessage => ({
  type: 'human',
  id: `${name}:${newId()}`,
  name,
  content: text,
  additional_kwargs: { hide_from_ui: true },
  response_metadata: {},
});
