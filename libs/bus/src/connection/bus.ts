import type {
  BusAccess,
  CancelAction,
  DeadLetterKind,
  NatsSecurity,
  NumberedEvent,
  OutputPiece,
  RpcContract,
  WakeRole,
} from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import type { z } from 'zod';

/** The JetStream streams by role; names and subjects stand in @caribou/contracts. */
export type StreamRole = 'turns' | 'subagents' | 'memory' | 'deadLetters';

export interface BusOptions extends NatsSecurity {
  readonly url: string;
  /**
   * What the service of this process may do at the server: where its replies arrive, and whether it makes streams or
   * waits for them. Default: everything, as at a server without permissions.
   */
  readonly access?: BusAccess;
  /** Shown by the server's monitoring; the app's name. */
  readonly name: string;
  readonly logger: Logger;
  /**
   * Streams this process needs. They are created, with their consumer, at every (re)connect, looked at again every
   * `checkMs`, and created again when gone; a service that may not make streams only looks.
   */
  readonly streams: readonly StreamRole[];
  /** A wake that is neither acked nor held by `working()` for this long is delivered again; milliseconds. Default 10 s. */
  readonly ackWaitMs?: number;
  /** Most wakes out at once, over all runners of the system. Default 20,000. */
  readonly maxAckPending?: number;
  /** Default 5 s. */
  readonly checkMs?: number;
  /** Copies of each stream in a cluster of NATS servers; default 1. */
  readonly replicas?: number;
}

/** Ends a subscription; idempotent. */
export type Unsubscribe = () => void;

/** One delivery of a thread's wake. The right to run comes from the store's claim, never from this. */
export interface Wake extends ThreadKey {
  /** Delivered before: its first runner died, was too late, or gave it back. */
  readonly redelivered: boolean;
  /** Holds the wake for another `ackWaitMs`. Only after a good renewal of the lease: it works from a stale delivery too. */
  working(): void;
  /**
   * Done with it. True when the server confirmed; false when it did not in time, and then the wake comes again, which
   * finds nothing to run.
   */
  ack(): Promise<boolean>;
  /** Not now: to be delivered again after `delayMs`, to whomever. */
  nak(delayMs: number): void;
}

export interface PullOptions {
  /** Most handlers at once; one wake is asked for at a time, and only while a slot is free. */
  readonly slots: number;
  /** Holds a slot until it settles. It settles the wake itself; when it rejects, the error is logged and nothing is sent. */
  handle(wake: Wake): Promise<void>;
}

export interface WakePull {
  /**
   * Runs work that no wake asked for in one of the slots; its failure is logged.
   * @returns false when no slot is free or the pull is stopped: then the work is not started
   */
  occupy(work: () => Promise<void>): boolean;
  /** How long no wake can be received, in milliseconds; 0 while the consumer answers. */
  readonly failingMs: number;
  /** From now on no wake is handed over; one that still arrives is given back at once. Idempotent. */
  stop(): void;
  /** Resolves when no handler is running. */
  idle(): Promise<void>;
}

export type PublishedWake = 'stored' | 'waiting';

/** The wakes of one role, both ends. Wakes of other roles are other streams: the same thread may wait in each. */
export interface Wakes {
  /**
   * Nudges the runners: the thread may have something to run. `waiting`: the stream has a wake of the thread already.
   * @throws {UnavailableError} when NATS did not store it; the pending set in Redis still has the thread, sweepers repeat.
   */
  publish(thread: ThreadKey): Promise<PublishedWake>;
  /**
   * Publishes the thread's wake again if the stored one lies behind the position of the consumer, which then may never
   * deliver it: after kill -9 a nats-server can have a wake whose acknowledgement the consumer remembers. A wake carries
   * nothing, so removing one loses nothing.
   * @returns whether there was such a wake
   * @throws {UnavailableError}
   */
  replaceLost(thread: ThreadKey): Promise<boolean>;
  /** Publishes the last wake once more if NATS did not take it. @throws {UnavailableError} when it still does not */
  checkPublishing(): Promise<void>;
  /** Pulls wakes until stopped; goes on by itself after a lost connection, stream or consumer. */
  pull(options: PullOptions): WakePull;
  /** Whether some runner asks for wakes or holds one now. @throws {UnavailableError} */
  hasRunners(): Promise<boolean>;
}

export interface RunEventListener {
  /** Events in the order of one publisher; duplicates of what the log gave are possible, compare `seq`. */
  onEvents(events: readonly NumberedEvent[]): void;
  /** Something may have been missed (reconnect, or a batch too big for the bus): read the log from the last seq. */
  onGap(): void;
}

export interface RunEvents {
  /**
   * Tells live watchers what was just appended. Never throws and never waits: the log is the truth. What is too big for
   * the bus, or happens while NATS is away, reaches watchers as `onGap` later.
   */
  publishEvents(runId: string, appended: readonly NumberedEvent[]): void;
  /**
   * Hears a run's events; listeners of one run share a subscription. Resolves when the server knows of it, so that a
   * read of the log afterwards leaves no hole. While NATS is away it resolves all the same, and `onGap` is called when it is back.
   */
  subscribeEvents(runId: string, listener: RunEventListener): Promise<Unsubscribe>;
}

export interface Cancels {
  /** Tells every runner and executor; never throws, as the flag in Redis is the truth. */
  publishCancel(runId: string, action: CancelAction): void;
  subscribeCancels(listener: (runId: string, action: CancelAction) => void): Unsubscribe;
}

/** A command by the key under which it is executed. */
export interface CommandName extends ThreadKey {
  /** `run_id:tool_call_id`. */
  readonly key: string;
}

export interface CommandOutputs {
  /** Tells whoever listens what a command wrote. Never throws and never waits: what is lost stands in the result. */
  publishOutput(command: CommandName, piece: OutputPiece): void;
  /** Hears what a command writes from now on. A request sent afterwards finds the server knowing of it. */
  subscribeOutput(command: CommandName, listener: (piece: OutputPiece) => void): Unsubscribe;
}

export interface ConfigChanges {
  /** Tells all processes that the document was changed. Never throws: whoever misses it looks at the version in the store. */
  publishConfigChange(name: string): void;
  /** Hears of changes of the document, and when the connection is back: one may have been missed. */
  subscribeConfigChanges(name: string, listener: () => void): Unsubscribe;
}

export interface DeadLetters {
  /**
   * Keeps what cannot be worked on for an operator; `entry` is JSON, cut to 256 KiB.
   * @throws {UnavailableError} when NATS did not confirm.
   */
  deadLetter(kind: DeadLetterKind, id: string, entry: Readonly<Record<string, unknown>>): Promise<void>;
}

export interface CallOptions {
  /** Stops the wait with its reason; the remote procedure continues. */
  readonly signal?: AbortSignal;
  /** Instead of the contract's, in milliseconds. */
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What to call and where: the subject is the contract's name, or a manager's own. */
export interface CallTarget<Request extends z.ZodType, Reply extends z.ZodType> {
  readonly contract: RpcContract<Request, Reply>;
  /** Default: `contract.name`. */
  readonly subject?: string;
}

export interface RpcClient {
  /**
   * Calls a Nest `@MessagePattern` handler and answers its parsed reply.
   *
   * @throws {InvalidRequestError} when the payload breaks the contract
   * @throws {UnavailableError} no handler is there, or the connection was lost: whether it ran is unknown
   * @throws {DeadlineError} no reply in time
   * @throws the handler's AppError, as the class of its code
   * @throws {BugError} when the reply breaks the contract
   */
  call<Request extends z.ZodType, Reply extends z.ZodType>(
    target: CallTarget<Request, Reply>,
    payload: z.input<Request>,
    options?: CallOptions,
  ): Promise<z.output<Reply>>;
}

export interface Bus extends RpcClient, RunEvents, Cancels, CommandOutputs, ConfigChanges, DeadLetters {
  readonly connected: boolean;
  /** Whoever publishes or pulls for a role names its stream in `BusOptions.streams`. */
  wakes(role: WakeRole): Wakes;
  /** Resolves at the first moment with a connection (now, if there is one); rejects with the signal's reason. */
  waitUntilConnected(signal?: AbortSignal): Promise<void>;
  /** One round trip to the server. @throws {UnavailableError} when it takes longer than `timeoutMs`. */
  ping(timeoutMs: number): Promise<void>;
  /** Resolves when the streams of this process stand, making what is missing. @throws {UnavailableError} saying what is wrong */
  checkStreams(): Promise<void>;
  /** Stops everything and closes the connection, draining for at most `timeoutMs` (default 2 s). Idempotent; never throws. */
  close(timeoutMs?: number): Promise<void>;
}
