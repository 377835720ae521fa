import type { FileDiffReply, WorkspaceChange, WorkspaceChangesReply } from '@caribou/contracts';
import { COMPARE_LIMITS, type DiffOmission, type FileChange, type TreeComparison } from '@caribou/files';
import { parseVirtualPath } from '@caribou/core';

interface Sides {
  readonly size_before: number | null;
  readonly size_after: number | null;
  readonly sha256_before: string | null;
  readonly sha256_after: string | null;
}

/** Links have neither size nor checksum. */
function sidesOf({ before, after }: FileChange): Sides {
  const [left, right] = [before, after].map((node) => (node?.kind === 'file' ? node : undefined));
  return {
    size_before: left?.size ?? null,
    size_after: right?.size ?? null,
    sha256_before: left?.sha256 ?? null,
    sha256_after: right?.sha256 ?? null,
  };
}

const sumOf = (changes: readonly FileChange[], field: 'additions' | 'deletions'): number =>
  changes.reduce((sum, change) => sum + change[field], 0);

const linesOf = ({ changes }: TreeComparison) => ({
  additions: sumOf(changes, 'additions'),
  deletions: sumOf(changes, 'deletions'),
});

export function toFileDiff(comparison: TreeComparison): FileDiffReply {
  const { changes, added, changed, removed, truncated } = comparison;
  return {
    summary: { added, changed, removed, ...linesOf(comparison), truncated },
    files: changes.map((each) => ({
      path: each.path,
      change: each.change,
      ...sidesOf(each),
      additions: each.additions,
      deletions: each.deletions,
      diff: each.diff,
      diff_omitted: each.omission,
    })),
  };
}

const reasons: Readonly<Record<DiffOmission, WorkspaceChange['diff_unavailable_reason']>> = {
  binary: 'binary',
  large: 'large',
  limit: 'truncated',
  link: 'symlink',
};
const statuses = { added: 'created', changed: 'modified', removed: 'deleted' } as const;

const isNewLink = ({ change, after }: FileChange): boolean => change === 'added' && after?.kind === 'link';

function workspaceChange(each: FileChange, withDiffs: boolean): WorkspaceChange {
  return {
    path: each.path,
    root: parseVirtualPath(each.path)?.directory ?? 'workspace',
    status: isNewLink(each) ? 'symlink_created' : statuses[each.change],
    binary: each.omission === 'binary',
    sensitive: false,
    ...sidesOf(each),
    diff: withDiffs ? each.diff : '',
    diff_truncated: false,
    diff_unavailable_reason: each.omission === null ? null : reasons[each.omission],
    additions: each.additions,
    deletions: each.deletions,
  };
}

/** In the form of DeerFlow's web client. */
export function toWorkspaceChanges(
  comparison: TreeComparison,
  { withFiles, withDiffs }: { readonly withFiles: boolean; readonly withDiffs: boolean },
): WorkspaceChangesReply {
  const { changes, added, changed, removed, truncated } = comparison;
  const newLinks = changes.filter(isNewLink).length;
  return {
    available: true,
    version: 1,
    summary: {
      created: added - newLinks,
      modified: changed,
      deleted: removed,
      symlink_created: newLinks,
      ...linesOf(comparison),
      truncated,
    },
    files: withFiles ? changes.map((each) => workspaceChange(each, withDiffs)) : [],
    limits: {
      max_files: COMPARE_LIMITS.maxChanges,
      max_file_bytes_for_diff: COMPARE_LIMITS.maxFileBytes,
      max_total_diff_bytes: COMPARE_LIMITS.maxDiffChars,
    },
  };
}
