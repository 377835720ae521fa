import type { CustomAgent } from '@caribou/contracts';

/** A stored custom agent. Times are the store's clock, ISO 8601. */
export interface StoredAgent extends CustomAgent {
  /** New after each change and never reused, not even after a deletion. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** Thread of the conversation that created it; null: it was created over HTTP. */
  readonly made_in: string | null;
}

export interface AgentWrite {
  readonly agent: CustomAgent;
  readonly madeIn: string | null;
  /** Version that is replaced; 0: no agent with this name may exist. */
  readonly expected: number;
  /** Key of the tool call that writes; each call writes once, even when a takeover repeats it. */
  readonly call?: string;
}

/** `repeated`: this call wrote earlier, and nothing was written now. */
export type AgentWriteOutcome =
  | { readonly outcome: 'written' | 'repeated'; readonly agent: StoredAgent }
  /** This call wrote earlier and the agent was deleted since; it is not created again. */
  | { readonly outcome: 'removed' }
  /** The version is not the expected one, or an agent exists where none is expected. */
  | { readonly outcome: 'changed' }
  /** The user has the maximum number of agents. */
  | { readonly outcome: 'full' };

/**
 * Port to users' custom agents and profiles (what users say about themselves to all their agents). Every write is one
 * atomic step; every process sees it at its next read.
 *
 * All methods throw UnavailableError when the store does not answer in time. Names are in lower case.
 */
export interface AgentStore {
  /** Sorted by name, with empty souls. */
  list(userId: string): Promise<readonly StoredAgent[]>;
  read(userId: string, name: string): Promise<StoredAgent | null>;
  write(userId: string, write: AgentWrite): Promise<AgentWriteOutcome>;
  /** Whether the agent existed. */
  remove(userId: string, name: string): Promise<boolean>;
  /** '' when there is none. */
  profile(userId: string): Promise<string>;
  /** The empty text removes it. */
  writeProfile(userId: string, content: string): Promise<void>;
}
