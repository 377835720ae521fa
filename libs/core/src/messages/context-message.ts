/** The name of the messages that tell the model what the user's memory, profile and skills say; threads do not have them. */
export const CONTEXT_MESSAGE = 'thread-context';
