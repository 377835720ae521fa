import type { ConversationState } from './conversation-state.js';
import type { Said } from './items.js';

/** A message that is being sent. */
export const saidNow = (id: string, text: string, files: readonly string[]): Said => ({
  kind: 'said',
  id,
  text,
  files,
  seq: undefined,
  runId: undefined,
  createdAt: new Date().toISOString(),
  state: 'sending',
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

/** Messages of runs that are over and that the feed has not: their run was cancelled before it began, or rolled back. */
export const withoutEnded = (state: ConversationState, inFlight: ReadonlySet<string>): ConversationState => ({
  ...state,
  pending: state.pending.filter(({ runId }) => runId === undefined || inFlight.has(runId)),
});
