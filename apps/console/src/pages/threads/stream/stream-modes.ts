/** What a conversation shows comes in these modes; whole states, which may be large, are not among them. */
export const STREAM_MODES = ['messages-tuple', 'updates', 'custom'] as const;
