import type {
  BusAccess,
  CancelAction,
  DeadLetterKind,
  NatsSecurity,
  NumberedEvent,
  OutputPiece,
  ScatterContract,
  WakeRole,
} from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import type { z } from 'zod';
import type { Handoffs } from './handoff-port.js';
import type { RpcClient } from './procedures.js';

/** The JetStream streams by role; their names and subjects are defined in @caribou/contracts. */
export type StreamRole = 'turns' | 'subagents' | 'memory' | 'deadLetters';

export interface BusOptions extends NatsSecurity {
  readonly url: string;
  /**
   * Permissions of this process's service at the server: the subject prefix of its replies, and whether it creates
   * streams or waits for them. Default: everything is permitted, as on a server without permissions.
   */
  readonly access?: BusAccess;
  /** Name of the connection in the server's monitoring: the app's name. */
  readonly name: string;
  readonly logger: Logger;
  /**
   * Streams that this process needs. They are created, with their consumer, at every (re)connect, checked every
   * `checkMs`, and created again when they are gone; a service that may not create streams only checks.
   */
  readonly streams: readonly StreamRole[];
  /**
   * Milliseconds after which a wake that is not acknowledged is delivered again. Default 10 s.
   */
  readonly ackWaitMs?: number;
  /** Maximum number of unacknowledged wakes, over all runners of the system. Default 20,000. */
  readonly maxAckPending?: number;
  /** Time between two checks of the streams, in milliseconds. Default 5 s. */
  readonly checkMs?: number;
  /** Number of copies of each stream in a cluster of NATS servers; default 1. */
  readonly replicas?: number;
}

/** Ends a subscription; idempotent. */
export type Unsubscribe = () => void;

/** One delivery of a thread's wake. The right to run comes from the store's claim, never from this delivery. */
export interface Wake extends ThreadKey {
  /** Whether it was delivered before: its first receiver died, or was too late. */
  readonly redelivered: boolean;
  /**
   * Acknowledges the wake. Returns true when the server confirmed; false when it did not in time: the wake is then
   * delivered again and finds nothing to run.
   */
  ack(): Promise<boolean>;
}

export interface PullOptions {
  /** Maximum number of concurrent handlers; one wake is requested at a time, and only while a slot is free. */
  readonly slots: number;
  /**
   * Handles a wake and acknowledges it; the slot is in use until the promise settles. A rejection is logged and nothing is
   * sent.
   */
  handle(wake: Wake): Promise<void>;
  /** Called when the number of free slots has changed. */
  onSlots?(free: number): void;
}

export interface WakePull {
  /**
   * Runs work without a wake in one of the slots; its failure is logged.
   * @returns false when no slot is free or the pull was stopped: the work is not started
   */
  occupy(work: () => Promise<void>): boolean;
  /** Milliseconds since wakes can no longer be received; 0 while the consumer answers. */
  readonly failingMs: number;
  /** Stops handing out wakes; one that still arrives is returned at once. Idempotent. */
  stop(): void;
  /** Resolves when no handler is running. */
  idle(): Promise<void>;
}

export type PublishedWake = 'stored' | 'waiting';

/**
 * Publishes and receives the wakes of one role. Each role has a stream of its own, so a thread may have a wake in each.
 */
export interface Wakes {
  /**
   * Notifies the runners that the thread may have something to run. Returns `waiting` when the stream already has a
   * wake of the thread.
   * @throws {UnavailableError} when NATS did not store it; the thread is still in the pending set in Redis, and a sweep
   *   repeats the wake
   */
  publish(thread: ThreadKey): Promise<PublishedWake>;
  /**
   * Publishes the thread's wake again if the stored one lies before the position of the consumer, which then may never
   * deliver it: after kill -9 a nats-server can have a wake whose acknowledgement the consumer remembers. A wake
   * contains no data, so nothing is lost by removing one.
   * @returns whether there was such a wake
   * @throws {UnavailableError}
   */
  replaceLost(thread: ThreadKey): Promise<boolean>;
  /** Publishes the last wake again if NATS did not store it. @throws {UnavailableError} when it still does not */
  checkPublishing(): Promise<void>;
  /** Pulls wakes until stopped; resumes by itself after a lost connection, stream or consumer. */
  pull(options: PullOptions): WakePull;
  /** Whether a runner requests wakes or holds one now. @throws {UnavailableError} */
  hasRunners(): Promise<boolean>;
}

export interface RunEventListener {
  /**
   * Receives events in the order of one publisher. Events that were also read from the log may be repeated: compare
   * `seq`.
   *
   * @param events none when only the log has news
   * @param logged number up to which the log has events, as far as the publisher knew
   */
  onEvents(events: readonly NumberedEvent[], logged: number): void;
  /**
   * Reports that events may have been missed (reconnect, or a batch that is too big for the bus): the log must be read
   * from the last `seq`.
   */
  onGap(): void;
}

export interface RunEvents {
  /**
   * Publishes events to live watchers. Never throws and never waits, because the log is the source of truth. What is too
   * big for the bus, or published while NATS is away, reaches watchers later, when they read the log.
   *
   * @param logged number of the newest event in the log; events above it are not appended yet
   */
  publishEvents(runId: string, events: readonly NumberedEvent[], logged: number): void;
  /**
   * Subscribes to a run that is about to be offered, before anybody listens. Its first listener gets `onGap` if something has arrived until then. Ends
   * by itself after two seconds without a listener. @returns ends it at once
   */
  expectEvents(runId: string): Unsubscribe;
  /**
   * Subscribes to a run's events; listeners of one run share a subscription. Resolves when the server knows of it, so
   * that a read of the log afterwards leaves no hole. While NATS is away it resolves as well, and `onGap` is called on
   * reconnect.
   */
  subscribeEvents(runId: string, listener: RunEventListener): Promise<Unsubscribe>;
}

export interface Cancels {
  /** Broadcasts to every runner and executor. Never throws, because the flag in Redis is the source of truth. */
  publishCancel(runId: string, action: CancelAction): void;
  subscribeCancels(listener: (runId: string, action: CancelAction) => void): Unsubscribe;
}

/** Identifies a command by the key under which it is executed. */
export interface CommandName extends ThreadKey {
  /** The key, `run_id:tool_call_id`. */
  readonly key: string;
}

export interface CommandOutputs {
  /** Publishes what a command wrote. Never throws and never waits: the result contains what is lost. */
  publishOutput(command: CommandName, piece: OutputPiece): void;
  /**
   * Subscribes to what a command writes from now on. The server knows of the subscription before any request that is
   * sent afterwards.
   */
  subscribeOutput(command: CommandName, listener: (piece: OutputPiece) => void): Unsubscribe;
}

export interface ConfigChanges {
  /**
   * Notifies all processes that the document has changed. Never throws: a process that misses it checks the version in
   * the store.
   */
  publishConfigChange(name: string): void;
  /**
   * Subscribes to changes of the document. The listener is also called on reconnect, as a change may have been missed.
   */
  subscribeConfigChanges(name: string, listener: () => void): Unsubscribe;
}

export interface ThreadRuns {
  /** Says that a run was admitted to the thread. Never throws and never waits: who misses it asks the store. */
  publishThreadRun(thread: ThreadKey): void;
  /**
   * Subscribes to admissions of runs to the thread. Resolves when the server knows of it, or NATS is away; the listener is
   * also called on reconnect, as an admission may have been missed.
   */
  subscribeThreadRuns(thread: ThreadKey, listener: () => void): Promise<Unsubscribe>;
}

export interface DeadLetters {
  /**
   * Stores what could not be processed, for an operator; `entry` is JSON, cut to 256 KiB.
   * @throws {UnavailableError} when NATS did not confirm.
   */
  deadLetter(kind: DeadLetterKind, id: string, entry: Readonly<Record<string, unknown>>): Promise<void>;
}

export interface Scatter {
  /**
   * Asks every process that answers the question and collects their replies for the time of the contract. Replies that break it are
   * logged and left out. `isCut`: there were more than `maxReplies`.
   *
   * @throws {UnavailableError} without a connection, or when it is lost meanwhile
   */
  askAll<Request extends z.ZodType, Reply extends z.ZodType>(
    contract: ScatterContract<Request, Reply>,
    payload: z.input<Request>,
    options: { readonly maxReplies: number },
  ): Promise<{ readonly replies: readonly z.output<Reply>[]; readonly isCut: boolean }>;
  /** Answers questions from now on, on every connection; a question whose answer fails is logged and gets none. */
  answerAll<Request extends z.ZodType, Reply extends z.ZodType>(
    contract: ScatterContract<Request, Reply>,
    answer: (request: z.output<Request>) => Promise<z.input<Reply>>,
  ): Unsubscribe;
}

export interface Bus
  extends RpcClient,
    Scatter,
    Handoffs,
    RunEvents,
    Cancels,
    CommandOutputs,
    ConfigChanges,
    ThreadRuns,
    DeadLetters {
  readonly connected: boolean;
  /**
   * The connection to the bus. A process that publishes or pulls for a role names its stream in `BusOptions.streams`.
   */
  wakes(role: WakeRole): Wakes;
  /** Resolves at the first moment with a connection (now, if there is one); rejects with the signal's reason. */
  waitUntilConnected(signal?: AbortSignal): Promise<void>;
  /** One round trip to the server. @throws {UnavailableError} when it takes longer than `timeoutMs`. */
  ping(timeoutMs: number): Promise<void>;
  /**
   * Resolves when the streams of this process exist, creating those that are missing. @throws {UnavailableError} saying
   * what is wrong
   */
  checkStreams(): Promise<void>;
  /**
   * Ends all subscriptions and closes the connection, draining for at most `timeoutMs` (default 2 s). Idempotent; never
   * throws.
   */
  close(timeoutMs?: number): Promise<void>;
}
