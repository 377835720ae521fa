import { randomUUID } from 'node:crypto';
import { ConflictError, FencedError, omitUndefined } from '@caribou/contracts';
import type { FileCommit, FileGenerations, FileHead, FileTrees, ThreadKey, UnpublishedFiles } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { pendingMember } from '../redis/keys.js';
import { loadScript } from '../redis/scripts.js';

const scripts = {
  commit: loadScript('files/commit-files'),
  note: loadScript('files/note-unpublished'),
  copy: loadScript('files/copy-files'),
  restore: loadScript('files/restore-files'),
  retained: loadScript('files/retained-files'),
};

/** Fields of the hash, in the order of head-reply.lua. */
const HEAD_FIELDS = [
  'home',
  'generation',
  'work',
  'uploads',
  'bytes',
  'files',
  'reset_at',
  'unpublished',
  'machine',
] as const;
const MAX_LISTED = 1_000;

const treesOf = (work: string, uploads: string): FileTrees => ({
  ...(work === '' ? {} : { work }),
  ...(uploads === '' ? {} : { uploads }),
});

function unpublishedOf(text: string): UnpublishedFiles | undefined {
  const [managerId, machine, since] = text.split(' ');
  if (managerId === undefined || machine === undefined || since === undefined) return undefined;
  return { managerId, machine, sinceMs: Number(since) };
}

function headOf(values: readonly (string | null)[]): FileHead {
  const [home, generation, work, uploads, bytes, files, resetAt, unpublished, machine] = values.map(
    (value) => value ?? '',
  );
  return {
    home: home ?? '',
    generation: Number(generation),
    trees: treesOf(work ?? '', uploads ?? ''),
    bytes: Number(bytes),
    files: Number(files),
    resetAt: Number(resetAt),
    ...omitUndefined({ unpublished: unpublishedOf(unpublished ?? '') }),
    ...(machine === undefined || machine === '' ? {} : { machine }),
  };
}

const otherManager = ({ threadId }: ThreadKey): FencedError =>
  new FencedError('the sandbox of the thread is bound to another manager', { details: { threadId } });

/** The generations of threads' files: a hash per thread, removed with the thread. */
export function redisFileGenerations(redis: RedisConnection): FileGenerations {
  const { keys } = redis;
  const hashOf = (thread: ThreadKey): string => keys.files(thread).generations;
  const field = (thread: ThreadKey, name: string): Promise<string | null> =>
    redis.use((client) => client.hget(hashOf(thread), name));

  return {
    head: async (thread) => {
      const values = await redis.use((client) => client.hmget(hashOf(thread), ...HEAD_FIELDS));
      return typeof values[0] === 'string' ? headOf(values) : null;
    },
    commit: async (thread, commit) => {
      const { generations, filed } = keys.files(thread);
      const [outcome, head] = (await redis.run(
        scripts.commit,
        [generations, filed],
        [...commitArgs(thread, commit), keys.thread(thread).sandbox, keys.erasing ?? ''],
      )) as [string, (readonly string[] | '')?];
      if (outcome === 'fenced') throw otherManager(thread);
      if (outcome === 'erasing')
        throw new ConflictError('the thread is being deleted', { details: { threadId: thread.threadId } });
      return { committed: outcome === 'ok', head: Array.isArray(head) ? headOf(head as readonly string[]) : null };
    },
    noteUnpublished: async (thread, { managerId, machine }) => {
      const reply = await redis.run(scripts.note, [hashOf(thread)], [managerId, machine, keys.thread(thread).sandbox]);
      if ((reply as readonly string[])[0] === 'fenced') throw otherManager(thread);
    },
    atCheckpoint: async (thread, checkpointId) => {
      const generation = await field(thread, `c:${checkpointId}`);
      const trees = generation === null ? null : await field(thread, `g:${generation}`);
      if (generation === null || trees === null) return null;
      const [work = '', uploads = ''] = trees.split(' ');
      return { generation: Number(generation), trees: treesOf(work, uploads) };
    },
    isComplete: async (thread) => (await field(thread, 'complete')) !== '',
    copy: async (from, to, checkpointId = '') => {
      const { generations, filed } = keys.files(to);
      const [outcome, head] = (await redis.run(
        scripts.copy,
        [hashOf(from), generations, filed],
        [checkpointId, randomUUID(), to.threadId],
      )) as [string, (readonly string[])?];
      if (outcome === 'taken')
        throw new ConflictError('the thread has files already', { details: { threadId: to.threadId } });
      return head === undefined ? null : headOf(head);
    },
    restore: async (thread, checkpointId) => {
      const { record, inbox, lease } = keys.thread(thread);
      const [outcome, head] = (await redis.run(
        scripts.restore,
        [hashOf(thread)],
        [checkpointId, record, inbox, lease],
      )) as [string, (readonly string[])?];
      if (outcome === 'busy')
        throw new ConflictError('the thread has a run in flight: its files cannot go back now', {
          details: { threadId: thread.threadId },
        });
      return head === undefined ? null : headOf(head);
    },
    retained: async (thread) => {
      const trees = (await redis.run(scripts.retained, [hashOf(thread)], [])) as readonly string[];
      return [...new Set(trees.flatMap((text) => text.split(' ')))].filter((key) => key !== '');
    },
    threadsWithFiles: (userId, skip) =>
      redis.use((client) => client.zrange(keys.files({ userId, threadId: userId }).filed, skip, skip + MAX_LISTED - 1)),
  };
}

/** The arguments of commit-files.lua up to the names of keys. */
function commitArgs(thread: ThreadKey, commit: FileCommit): readonly string[] {
  const { expected, trees, writer } = commit;
  return [
    expected?.home ?? '',
    expected === null ? '' : String(expected.generation),
    randomUUID(),
    trees.work ?? '',
    trees.uploads ?? '',
    String(commit.bytes),
    String(commit.files),
    writer?.managerId ?? '',
    writer?.machine ?? '',
    commit.isPartial === true ? '1' : '',
    commit.isImport === true ? '' : '1',
    thread.threadId,
    pendingMember(thread),
  ];
}
