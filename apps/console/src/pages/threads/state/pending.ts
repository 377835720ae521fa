import type { ConversationState } from './conversation-state.js';
import type { Said } from './items.js';

/** A message that is being sent. */
export const saidNow = (id: string, text: string, files: readonly string[], joins = false): Said => ({
  kind: 'said',
  id,
  text,
  files,
  seq: undefined,
  runId: undefined,
  createdAt: new Date().toISOString(),
  state: 'sending',
  joins,
});

export const withSent = (state: ConversationState, said: Said): ConversationState => ({
  ...state,
  pending: [...state.pending, said],
});

/** The server has accepted the message for this run. It may be part of the conversation already. */
export const withAccepted = (state: ConversationState, id: string, runId: string): ConversationState => ({
  ...state,
  pending: state.pending.map((said) => (said.id === id ? { ...said, runId, state: 'waiting' } : said)),
});

/** The server has refused the message, or could not be reached. */
export const withRefused = (state: ConversationState, id: string): ConversationState => ({
  ...state,
  pending: state.pending.filter((said) => said.id !== id),
});

/**
 * Marks messages of runs that are over and that the feed has not: their run was stopped before it began, or undone. One that was to
 * join a run under way waits for the next run then.
 */
export const withoutEnded = (state: ConversationState, inFlight: ReadonlySet<string>): ConversationState => ({
  ...state,
  pending: state.pending.map((said) =>
    said.runId === undefined || said.joins || inFlight.has(said.runId) ? said : { ...said, state: 'dropped' },
  ),
});
