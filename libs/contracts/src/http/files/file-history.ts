import { z } from 'zod';
import { CheckpointId, RunId } from '../../common/ids.js';
import { QueryFlag, queryInt, route } from '../route.js';
import { ThreadPath } from '../threads/thread-path.js';

const group = 'Files';
const MAX_PATH_CHARS = 4_096;
/** A cursor is a path in base64. */
const MAX_CURSOR_CHARS = 6_000;
const MAX_FILES = 1_000;

const FilePath = z.string().min(1).max(MAX_PATH_CHARS);

const FileEntry = z.object({
  path: z.string().describe('Virtual path, such as /mnt/user-data/outputs/report.md'),
  size: z.number().int().describe('Bytes'),
  sha256: z.string(),
  modified: z.number().describe('Seconds since 1970'),
});

const FilePageReply = z.object({
  files: z.array(FileEntry),
  next: z.string().nullable().describe('Value of `after` for the next page; null at the end'),
});
export type FilePageReply = z.infer<typeof FilePageReply>;

const DiffOmission = z
  .enum(['binary', 'large', 'link', 'limit'])
  .nullable()
  .describe('Why there is no diff; limit: those of earlier files took what one answer may have');

const FileDiffReply = z.object({
  summary: z.object({
    added: z.number().int(),
    changed: z.number().int(),
    removed: z.number().int(),
    additions: z.number().int().describe('Lines of the files whose diffs are shown'),
    deletions: z.number().int(),
    truncated: z.boolean().describe('There are more changes than are listed'),
  }),
  files: z.array(
    z.object({
      path: z.string(),
      change: z.enum(['added', 'changed', 'removed']),
      size_before: z.number().int().nullable(),
      size_after: z.number().int().nullable(),
      sha256_before: z.string().nullable(),
      sha256_after: z.string().nullable(),
      additions: z.number().int(),
      deletions: z.number().int(),
      diff: z.string().describe('A unified diff'),
      diff_omitted: DiffOmission,
    }),
  ),
});
export type FileDiffReply = z.infer<typeof FileDiffReply>;

const needsStore = 'Needs files in an object store (docs/files.md); 403 without.';

const list = route({
  name: 'listFiles',
  group,
  method: 'GET',
  path: '/threads/:thread_id/files',
  summary: `The regular files of a thread by path, now or at a checkpoint. ${needsStore}`,
  params: ThreadPath,
  query: z.object({
    checkpoint_id: CheckpointId.optional(),
    directory: FilePath.optional().describe('Virtual path of a directory; default: all files'),
    after: z.string().min(1).max(MAX_CURSOR_CHARS).optional().describe('`next` of the page before'),
    limit: queryInt(200, 1, MAX_FILES),
  }),
  reply: FilePageReply,
  refusals: [400, 404, 409],
});

const content = route({
  name: 'getFileContent',
  group,
  method: 'GET',
  path: '/threads/:thread_id/files/content/*',
  summary: `A file by its virtual path, such as mnt/user-data/outputs/report.md, now or at a checkpoint; ranges and ETags work. ${needsStore}`,
  params: ThreadPath.extend({ '*': z.string() }),
  query: z.object({ checkpoint_id: CheckpointId.optional(), download: z.string().optional() }),
  reply: 'file',
  refusals: [400, 404, 409, 416],
});

const diff = route({
  name: 'diffFiles',
  group,
  method: 'GET',
  path: '/threads/:thread_id/files/diff',
  summary: `What differs between the files of two checkpoints, at most 500 files, with diffs of texts up to 256 KiB. ${needsStore}`,
  params: ThreadPath,
  query: z.object({ from: CheckpointId, to: CheckpointId.optional().describe('Default: the files of now') }),
  reply: FileDiffReply,
  refusals: [404, 409],
});

const restore = route({
  name: 'restoreFiles',
  group,
  method: 'POST',
  path: '/threads/:thread_id/files/restore',
  summary:
    'Make the files of a checkpoint the newest: one file, or without `path` all of workspace and outputs, for which no run ' +
    `may be in flight. ${needsStore}`,
  params: ThreadPath,
  body: z.object({ checkpoint_id: CheckpointId, path: FilePath.optional().describe('Virtual path of a file') }),
  reply: z.object({
    checkpoint_id: z.string(),
    path: z.string().nullable(),
    generation: z.number().int().describe("Rises with each change of the thread's files"),
  }),
  refusals: [400, 404, 409, 413],
});

const WorkspaceChange = z.object({
  path: z.string(),
  root: z.string().describe('workspace or outputs'),
  status: z.enum(['created', 'modified', 'deleted', 'symlink_created']),
  binary: z.boolean(),
  sensitive: z.literal(false),
  size_before: z.number().int().nullable(),
  size_after: z.number().int().nullable(),
  sha256_before: z.string().nullable(),
  sha256_after: z.string().nullable(),
  diff: z.string(),
  diff_truncated: z.literal(false),
  diff_unavailable_reason: z.enum(['binary', 'large', 'truncated', 'symlink']).nullable(),
  additions: z.number().int(),
  deletions: z.number().int(),
});
export type WorkspaceChange = z.infer<typeof WorkspaceChange>;

const WorkspaceChangesReply = z.union([
  z.object({ available: z.literal(false) }),
  z.object({
    available: z.literal(true),
    version: z.literal(1),
    summary: z.object({
      created: z.number().int(),
      modified: z.number().int(),
      deleted: z.number().int(),
      symlink_created: z.number().int(),
      additions: z.number().int(),
      deletions: z.number().int(),
      truncated: z.boolean(),
    }),
    files: z.array(WorkspaceChange),
    limits: z.record(z.string(), z.number()),
  }),
]);
export type WorkspaceChangesReply = z.infer<typeof WorkspaceChangesReply>;

const workspaceChanges = route({
  name: 'getWorkspaceChanges',
  group,
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/workspace-changes',
  summary:
    'What a run changed in workspace and outputs, for web clients: not available unless files are in an object store, ' +
    'nor for a run whose checkpoints are no longer stored.',
  params: ThreadPath.extend({ run_id: RunId }),
  query: z.object({ include_files: QueryFlag.default(true), include_diff: QueryFlag.default(true) }),
  reply: WorkspaceChangesReply,
  refusals: [404],
});

export const fileHistoryRoutes = { list, content, diff, restore, workspaceChanges };
