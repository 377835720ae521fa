import type { ThreadKey } from '@caribou/core';

export interface MachineElsewhere {
  readonly machine: string;
  /** How long to wait for it, in milliseconds, as it has changes that are not stored; absent when it has none. */
  readonly waitMs?: number;
}

/**
 * Carries the files of threads between this machine's copy and the object store, where they are true. Calls about one thread are
 * made one after the other by the implementation.
 */
export interface ThreadFileSync {
  /**
   * Brings what changed elsewhere to this machine, before a call that reads or changes files begins.
   *
   * @throws {UnavailableError} when the files cannot be brought here in time; nothing of the call has begun
   */
  refresh(thread: ThreadKey): Promise<void>;
  /**
   * Stores what a call has changed. Resolves when it is stored, or when that takes longer than a call may wait: then it is noted that
   * changes are not stored yet, and they are stored in the background. Never rejects because of the store.
   *
   * @param paths virtual paths of the files that changed; absent when any may have
   */
  publish(thread: ThreadKey, paths?: readonly string[]): Promise<void>;
  /**
   * Stores everything that is not stored yet; returns whether there was something.
   *
   * @throws {UnavailableError} when that takes longer than `timeoutMs`; the work continues in the background
   */
  settle(thread: ThreadKey, timeoutMs: number): Promise<boolean>;
  /** Whether changes of the thread may be on this machine that are not stored yet, also of one whose sandbox is being removed. */
  knows(thread: ThreadKey): boolean;
  /**
   * Stores everything of a thread whose sandbox is gone from this manager, when some of it may not be stored yet.
   *
   * @throws {UnavailableError} as `settle`
   */
  settleKnown(thread: ThreadKey, timeoutMs: number): Promise<void>;
  /**
   * What results of commands have to say about files of the thread that were lost; the text ends with a newline. Answered once after the
   * thread has come to this manager.
   */
  takeNotice(thread: ThreadKey): string | undefined;
  /** The machine that has changes of a thread that are not stored, or else most of its files, if that is another one. @throws {UnavailableError} */
  machineElsewhere(thread: ThreadKey): Promise<MachineElsewhere | undefined>;
  /** Stores what this manager has noted as not stored, unless that is under way. @throws {UnavailableError} */
  resume(thread: ThreadKey): Promise<void>;
  /** Drops what is known of a thread whose sandbox this manager does not hold any more. */
  forget(thread: ThreadKey): void;
}

/** For one data volume that all machines share: there is nothing to carry. */
export const SHARED_FILES: ThreadFileSync = {
  refresh: () => Promise.resolve(),
  publish: () => Promise.resolve(),
  settle: () => Promise.resolve(false),
  knows: () => false,
  settleKnown: () => Promise.resolve(),
  takeNotice: () => undefined,
  machineElsewhere: () => Promise.resolve(undefined),
  resume: () => Promise.resolve(),
  forget: () => undefined,
};
