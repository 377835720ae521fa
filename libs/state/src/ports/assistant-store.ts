/** The content of an assistant: everything that a version of it holds. */
export interface AssistantContent {
  readonly graph_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly config: Readonly<Record<string, unknown>>;
  readonly context: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A stored assistant: the content of its current version. Times are the store's clock, ISO 8601. */
export interface StoredAssistant extends AssistantContent {
  readonly assistant_id: string;
  /** Number of the current version; 1 is the first. */
  readonly version: number;
  /** Increases with every change, also when an earlier version becomes the current one. */
  readonly revision: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A version of an assistant; `created_at` is the time of the version. */
export type AssistantVersion = Omit<StoredAssistant, 'revision' | 'updated_at'>;

export type AssistantOutcome =
  | { readonly outcome: 'written' | 'exists'; readonly assistant: StoredAssistant }
  /** It was changed since the given revision, or does not exist. */
  | { readonly outcome: 'changed' }
  /** The user has the maximum number of assistants, or of bytes of their versions. */
  | { readonly outcome: 'full' }
  | { readonly outcome: 'large'; readonly bytes: number };

/**
 * The assistants of users: settings of runs under an id, with their earlier versions. Every write is one atomic step; the
 * number of versions, assistants and bytes of a user is bounded. All methods throw UnavailableError when the store does not
 * answer in time.
 */
export interface AssistantStore {
  list(userId: string): Promise<readonly StoredAssistant[]>;
  read(userId: string, assistantId: string): Promise<StoredAssistant | null>;
  /** `exists` when the id is in use. */
  create(userId: string, assistantId: string, content: AssistantContent): Promise<AssistantOutcome>;
  /** Writes a new version, which becomes the current one; the oldest beyond the limit is removed. */
  update(
    userId: string,
    before: Pick<StoredAssistant, 'assistant_id' | 'revision'>,
    content: AssistantContent,
  ): Promise<AssistantOutcome>;
  /** Makes a stored version the current one; null when there is none. */
  setLatest(userId: string, assistantId: string, version: number): Promise<StoredAssistant | null>;
  /** The stored versions, newest first. */
  versions(userId: string, assistantId: string): Promise<readonly AssistantVersion[]>;
  /** Whether it existed. */
  remove(userId: string, assistantId: string): Promise<boolean>;
}

/** Limits of a user's assistants. Bytes are those of all stored versions. */
export const ASSISTANT_LIMITS = { maxAssistants: 200, maxVersions: 20, maxBytes: 16 * 1024 * 1024 } as const;
