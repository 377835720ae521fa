import { randomUUID } from 'node:crypto';
import { ConflictError, FencedError, omitUndefined } from '@caribou/contracts';
import type {
  CheckpointFiles,
  FileCommit,
  FileGenerations,
  FileHead,
  FileTrees,
  ThreadKey,
  UnpublishedFiles,
} from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { parsePendingMember, pendingMember } from '../redis/keys.js';
import { loadScript } from '../redis/scripts.js';

const scripts = {
  commit: loadScript('files/commit-files'),
  note: loadScript('files/note-unpublished'),
  forget: loadScript('files/forget-unpublished'),
  forgetLoss: loadScript('files/forget-loss'),
  at: loadScript('files/checkpoint-files'),
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
  'taken_at',
  'lost',
] as const;
const MAX_LISTED = 1_000;
const MAX_UNPUBLISHED = 100;
/** For commits of persons, which note nothing. */
const NO_MACHINE = 'none';

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
  const [home, generation, work, uploads, bytes, files, resetAt, unpublished, machine, takenAt, lost] = values.map(
    (value) => value ?? '',
  );
  return {
    home: home ?? '',
    generation: Number(generation),
    trees: treesOf(work ?? '', uploads ?? ''),
    bytes: Number(bytes),
    files: Number(files),
    resetAt: Number(resetAt),
    takenAt: Number(takenAt),
    ...omitUndefined({ unpublished: unpublishedOf(unpublished ?? '') }),
    ...(machine === undefined || machine === '' ? {} : { machine }),
    ...(lost === undefined || lost === '' ? {} : { lostSinceMs: Number(lost) }),
  };
}

/** From the reply of checkpoint-files.lua. */
function filesAt(reply: readonly [string, ...string[]]): CheckpointFiles {
  const [outcome, generation = '', work = '', uploads = '', late] = reply;
  // 'n/m' has the work of n with the uploads of m.
  const known = { generation: Number.parseInt(generation, 10), trees: treesOf(work, uploads) };
  if (outcome === 'known') return late === '1' ? { ...known, isPartial: true } : known;
  return outcome === 'none' ? 'none' : 'unknown';
}

const otherManager = ({ threadId }: ThreadKey): FencedError =>
  new FencedError('the sandbox of the thread is bound to another manager', { details: { threadId } });

const beingDeleted = ({ threadId }: ThreadKey): ConflictError =>
  new ConflictError('the thread is being deleted', { details: { threadId } });

/** The generations of threads' files: a hash per thread, removed with the thread. */
export function redisFileGenerations(redis: RedisConnection): FileGenerations {
  const { keys } = redis;
  const hashOf = (thread: ThreadKey): string => keys.files(thread).generations;

  return {
    head: async (thread) => {
      const values = await redis.use((client) => client.hmget(hashOf(thread), ...HEAD_FIELDS));
      return typeof values[0] === 'string' ? headOf(values) : null;
    },
    commit: async (thread, commit) => {
      const { generations, filed } = keys.files(thread);
      const [outcome, head] = (await redis.run(
        scripts.commit,
        [generations, filed, keys.unpublished(commit.writer?.machine ?? NO_MACHINE)],
        [...commitArgs(thread, commit), keys.thread(thread).sandbox, keys.erasing ?? ''],
      )) as [string, (readonly string[] | '')?];
      if (outcome === 'fenced') throw otherManager(thread);
      if (outcome === 'erasing') throw beingDeleted(thread);
      return { committed: outcome === 'ok', head: Array.isArray(head) ? headOf(head as readonly string[]) : null };
    },
    noteUnpublished: async (thread, { managerId, machine }) => {
      const { generations, filed } = keys.files(thread);
      const names = [managerId, machine, randomUUID(), thread.threadId, pendingMember(thread)];
      const [outcome] = (await redis.run(
        scripts.note,
        [generations, filed, keys.unpublished(machine)],
        [...names, keys.thread(thread).sandbox, keys.erasing ?? ''],
      )) as readonly string[];
      if (outcome === 'fenced') throw otherManager(thread);
      if (outcome === 'erasing') throw beingDeleted(thread);
    },
    unpublishedOf: async (machine) => {
      const members = await redis.use((client) => client.zrange(keys.unpublished(machine), 0, MAX_UNPUBLISHED - 1));
      return members.map(parsePendingMember);
    },
    forgetUnpublished: async (thread, machine) => {
      await redis.run(scripts.forget, [hashOf(thread), keys.unpublished(machine)], [machine, pendingMember(thread)]);
    },
    forgetLoss: async (thread, { managerId, lostSinceMs }) => {
      await redis.run(
        scripts.forgetLoss,
        [hashOf(thread)],
        [managerId, String(lostSinceMs), keys.thread(thread).sandbox],
      );
    },
    atCheckpoint: async (thread, checkpointId) => {
      const reply = await redis.run(scripts.at, [hashOf(thread)], [checkpointId]);
      return filesAt(reply as readonly [string, ...string[]]);
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
      const { generations, filed } = keys.files(thread);
      const trees = (await redis.run(scripts.retained, [generations, filed], [thread.threadId])) as readonly string[];
      return [...new Set(trees.flatMap((text) => text.split(' ')))].filter((key) => key !== '');
    },
    threadsWithFiles: (userId, skip) =>
      redis.use((client) => client.zrange(keys.files({ userId, threadId: userId }).filed, skip, skip + MAX_LISTED - 1)),
  };
}

const flagOf = (isSet = false): string => (isSet ? '1' : '');

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
    flagOf(commit.isPartial),
    flagOf(commit.takesOver),
    flagOf(commit.isImport !== true),
    thread.threadId,
    pendingMember(thread),
  ];
}
