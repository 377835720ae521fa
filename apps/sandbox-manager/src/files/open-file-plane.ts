import type { Config } from '@caribou/config';
import {
  type Clock,
  type Logger,
  type RepeatedTask,
  type SandboxRegistry,
  systemClock,
  type ThreadKey,
} from '@caribou/core';
import { objectTreeStore, type ThreadFiles, volumeIdOf, WorkingCopies } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { type RedisConnection, redisFileGenerations } from '@caribou/state';
import type { SandboxPool } from '../executions/sandbox-pool.js';
import { createCopyEviction } from './copy-eviction.js';
import { LeftChanges } from './left-changes.js';
import { LossNotices } from './loss-notices.js';
import { PlaneFileSync } from './plane-file-sync.js';
import { SHARED_FILES, type ThreadFileSync } from './thread-file-sync.js';

export interface FilePlane {
  readonly sync: ThreadFileSync;
  /** Lets contents go to the object store, if there is one, while they are written through these files. */
  readonly storingWrites: (files: ThreadFiles) => ThreadFiles;
  /** Absent when all machines share one data volume. */
  readonly eviction?: RepeatedTask;
  /** Absent when all machines share one data volume. */
  readonly leftChanges?: LeftChanges;
  /** Absent when all machines share one data volume. */
  readonly notices?: LossNotices;
  /** Whether files are in an object store, so that each machine may have a volume of its own. */
  readonly isStored: boolean;
  /** Identifies this machine among those that have files in the object store. */
  readonly machine?: string;
}

const EVICT_MS = 60_000;
const LEFT_CHANGES_MS = 5_000;

/** How long the removal of a sandbox waits until its files are stored; its copy keeps them. */
const SETTLE_MS = 20_000;

/** What the pool of sandboxes does for the files of its threads. */
export function poolHooksOf({ sync, notices }: Pick<FilePlane, 'sync' | 'notices'>) {
  const forget = (thread: ThreadKey): void => {
    sync.forget(thread);
    notices?.forget(thread);
  };
  return {
    fileNotice: (thread: ThreadKey) => notices?.textFor(thread),
    onForeign: forget,
    beforeGiveUp: (thread: ThreadKey) => sync.settleKnown(thread, SETTLE_MS),
    afterRemoval: async (thread: ThreadKey) => {
      await sync.settle(thread, SETTLE_MS);
      forget(thread);
    },
  };
}

/** How the files of threads come to this machine: from an object store, if one is configured, else they are there. */
export function openFilePlane(
  { files, homeDir, sandbox }: Config,
  parts: {
    readonly managerId: string;
    readonly redis: RedisConnection;
    readonly logger: Logger;
    /** The pool of sandboxes, which is made later. */
    readonly pool: () => Pick<SandboxPool, 'holdsThread' | 'takeOver'>;
    readonly registry: Pick<SandboxRegistry, 'isManagerAlive'>;
  },
  clock: Clock = systemClock,
): FilePlane {
  if (files === undefined) return { sync: SHARED_FILES, storingWrites: (own) => own, isStored: false };
  const { managerId, redis, logger, pool, registry } = parts;
  const holdsThread = (thread: ThreadKey): boolean => pool().holdsThread(thread);
  const generations = redisFileGenerations(redis);
  const copies = new WorkingCopies({ homeDir, store: objectTreeStore(openObjectStore(files.store, logger)) });
  const { maxDirectBytes, maxWaitMs, machineWaitMs, maxCopies } = files;
  const writer = { managerId, machine: volumeIdOf(homeDir) };
  const limits = { maxDirectBytes, maxWaitMs, machineWaitMs };
  const sync = new PlaneFileSync({ copies, generations, writer, clock, logger, ...limits });
  const eviction = createCopyEviction({
    copies,
    generations,
    clock,
    logger,
    maxCopies,
    minFreeBytes: sandbox.limits.minFreeBytes,
    everyMs: EVICT_MS,
    whenIdle: (thread, work) => (holdsThread(thread) ? Promise.resolve() : sync.whenIdle(thread, work)),
  });
  const { machine } = writer;
  const shared = { generations, clock, logger, holdsThread };
  const leftChanges = new LeftChanges({
    ...{ ...shared, machine, managerId, sync, everyMs: LEFT_CHANGES_MS },
    takeOver: (thread) => pool().takeOver(thread),
    isManagerAlive: (id) => registry.isManagerAlive(id),
  });
  const notices = new LossNotices({ managerId, sync, generations, logger });
  const storingWrites = (own: ThreadFiles): ThreadFiles => copies.storingWrites(own);
  return { sync, storingWrites, eviction, leftChanges, notices, isStored: true, machine };
}
