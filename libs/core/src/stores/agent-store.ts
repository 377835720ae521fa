import type { CustomAgent } from '@caribou/contracts';

/** A custom agent as it is kept. Times are the store's own, ISO 8601. */
export interface StoredAgent extends CustomAgent {
  /** Another one after each change, and never the same again, not even after a deletion. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** Thread of the conversation that it was made in; null: it was made over HTTP. */
  readonly made_in: string | null;
}

export interface AgentWrite {
  readonly agent: CustomAgent;
  readonly madeIn: string | null;
  /** Version that is replaced; 0: there must be none of this name. */
  readonly expected: number;
  /** Key of the tool call that writes: a call writes once, also when it is made again after a takeover. */
  readonly call?: string;
}

/** `repeated`: this call has written already, and nothing was written now. */
export type AgentWriteOutcome =
  | { readonly outcome: 'written' | 'repeated'; readonly agent: StoredAgent }
  /** This call has written already, and the agent was deleted since: it is not made again. */
  | { readonly outcome: 'removed' }
  /** There is another version by now, or an agent where none must be. */
  | { readonly outcome: 'changed' }
  /** The user has as many as there may be. */
  | { readonly outcome: 'full' };

/**
 * Port to what users make for themselves: custom agents, and what they tell all their agents of themselves. Every write
 * is one atomic step; every process sees it at its next look.
 *
 * All methods throw UnavailableError when the store does not answer in time. Names are in lower case.
 */
export interface AgentStore {
  /** By name. Souls are left out: they are ''. */
  list(userId: string): Promise<readonly StoredAgent[]>;
  read(userId: string, name: string): Promise<StoredAgent | null>;
  write(userId: string, write: AgentWrite): Promise<AgentWriteOutcome>;
  /** Whether there was one. */
  remove(userId: string, name: string): Promise<boolean>;
  /** '' when there is none. */
  profile(userId: string): Promise<string>;
  /** The empty text removes it. */
  writeProfile(userId: string, content: string): Promise<void>;
}
