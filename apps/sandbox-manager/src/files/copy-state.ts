import type { FileHead, Logger, ThreadKey } from '@caribou/core';
import type { BackgroundPublication } from './background-publication.js';

export const keyOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/** What this process knows of the copy of a thread's files. */
export interface CopyState {
  /** The head that the copy was last made equal to; undefined before the first time, null for no files. */
  at: FileHead | null | undefined;
  background: BackgroundPublication | undefined;
  notice: string | undefined;
}

/** Whether both are the same generation of the same files. */
export const isSameHead = (one: FileHead | null | undefined, other: FileHead | null): boolean =>
  one === null || one === undefined
    ? one === other
    : other !== null && one.home === other.home && one.generation === other.generation;

/** What the next result of a command says of lost changes. */
export const noticeOf = (sinceMs: number): string =>
  `[files that were changed since ${new Date(sinceMs).toISOString()} are missing: the machine that had them is gone]\n`;

/** Logs counts of what was done with the files of a thread. */
export const logFiles = (
  logger: Logger,
  thread: ThreadKey,
  event: 'files.refresh' | 'files.publish' | 'files.defer',
  counts: Readonly<Record<string, number>>,
): void => logger.debug({ event, ...thread, ...counts }, 'files of a thread');
