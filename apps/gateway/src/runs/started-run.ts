import type { RunRecord } from '@caribou/contracts';
import type { AdmitResult } from '@caribou/state';

/** What starting a run needs from a request besides the parsed body. */
export interface StartHeaders {
  readonly idempotencyKey: string | readonly string[] | undefined;
  readonly traceparent: string | undefined;
  /** Id of the API key of the request. */
  readonly apiKey: string | undefined;
  /** Whether the sender may answer what only an administrator may. */
  readonly admin: boolean;
  /** User id of an administrator who acts on the thread of another user; absent: the owner of the thread. */
  readonly actingUserId?: string;
  /** Address of the client, for the audit. */
  readonly clientAddress?: string;
  /** The body as it was sent, which an idempotency key is bound to. */
  readonly rawBody: unknown;
  /** Called with the size of the state that the run starts from, and with the user's runs. */
  readonly onAdmitted: (admitted: Pick<AdmitResult, 'stateBytes' | 'runs'>) => void;
}

/** A run that a request started, or joined. */
export interface AdmittedRun extends RunRecord {
  /** Set when the request's messages were given to a run in flight: number of the newest checkpoint event in its log. */
  readonly joinedAfter?: number;
}
