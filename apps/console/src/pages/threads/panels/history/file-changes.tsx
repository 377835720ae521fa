import type { FileDiffReply, fileHistoryRoutes } from '@caribou/contracts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { ApiError } from '../../../../api/request.js';
import { Badge, type Tone } from '../../../../components/badge.js';
import { Button } from '../../../../components/button.js';
import { Failure, Loading, Notice } from '../../../../components/notice.js';
import { history as texts } from '../../../../text/panels-history.js';
import { useConversation } from '../../conversation-context.js';
import type { FileRef } from '../files/file-ref.js';
import { HiddenText } from '../interrupts/hidden-text.js';
import styles from '../panels.module.css';
import { DiffView } from './diff-view.js';

const diffFiles = endpoint<typeof fileHistoryRoutes.diff>('GET', '/threads/:thread_id/files/diff');
const restoreFiles = endpoint<typeof fileHistoryRoutes.restore>('POST', '/threads/:thread_id/files/restore');

const FileViewer = lazy(async () => ({ default: (await import('../files/file-viewer.js')).FileViewer }));

type FileChange = FileDiffReply['files'][number];

const tones: Readonly<Record<FileChange['change'], Tone>> = { added: 'good', changed: 'accent', removed: 'bad' };

interface ChangesProps {
  /** The earlier checkpoint. */
  readonly from: string;
  /** The later one; absent: the files of now. */
  readonly to?: string | undefined;
}

/** What differs between the files of two checkpoints, with changed lines, and each version to look at and to bring back. */
export function FileChanges({ from, to }: ChangesProps) {
  const { threadId, revision } = useConversation();
  const [shown, setShown] = useState<FileRef | undefined>(undefined);
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['threads', threadId, 'files', 'diff', from, to ?? `now ${revision}`],
    queryFn: ({ signal }) =>
      diffFiles({ params: { thread_id: threadId }, query: { from, ...(to === undefined ? {} : { to }) }, signal }),
  });
  const restore = useMutation({
    mutationFn: (body: { checkpoint_id: string; path: string }) =>
      restoreFiles({ params: { thread_id: threadId }, body }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['threads', threadId, 'files'] }),
  });
  if (error instanceof ApiError && error.status === 403) return <p className={styles['quiet']}>{texts.noStore}</p>;
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  return (
    <>
      {data.files.length === 0 ? <p className={styles['quiet']}>{texts.noFiles}</p> : null}
      <ul className={styles['list']} aria-label={texts.filesTitle}>
        {data.files.map((file) => (
          <ChangedFile
            key={file.path}
            file={file}
            versions={{ from, to }}
            isBusy={restore.isPending}
            onShow={setShown}
            onRestore={(checkpointId) => restore.mutate({ checkpoint_id: checkpointId, path: file.path })}
          />
        ))}
      </ul>
      {data.summary.truncated ? <p className={styles['quiet']}>{texts.moreFiles}</p> : null}
      {restore.error === null ? null : <Failure error={restore.error} />}
      {typeof restore.data?.path === 'string' ? <Notice>{texts.restored(restore.data.path)}</Notice> : null}
      {shown === undefined ? null : (
        <Suspense fallback={<Loading />}>
          <FileViewer threadId={threadId} file={shown} onClose={() => setShown(undefined)} />
        </Suspense>
      )}
    </>
  );
}

interface ChangedFileProps {
  readonly file: FileChange;
  readonly versions: ChangesProps;
  readonly isBusy: boolean;
  readonly onShow: (file: FileRef) => void;
  readonly onRestore: (checkpointId: string) => void;
}

function ChangedFile({ file, versions: { from, to }, isBusy, onShow, onRestore }: ChangedFileProps) {
  const { path, change, additions, deletions, diff, diff_omitted: omitted } = file;
  const hasBefore = file.size_before !== null;
  const hasAfter = to !== undefined && file.size_after !== null;
  return (
    <li className={styles['item']}>
      <span className={styles['spread']}>
        <HiddenText text={path.replace(/^\/mnt\/user-data\//, '')} />
        <Badge tone={tones[change]}>{texts.changed[change]}</Badge>
      </span>
      <span className={styles['quiet']}>
        {omitted === null ? texts.lines(additions, deletions) : texts.omitted[omitted]}
      </span>
      {diff === '' ? null : (
        <details>
          <summary>{texts.showDiff}</summary>
          <DiffView path={path} diff={diff} />
        </details>
      )}
      <span className={styles['row']}>
        {hasBefore ? (
          <>
            <Button look="quiet" onClick={() => onShow({ path, checkpointId: from })}>
              {texts.showBefore}
            </Button>
            <Button disabled={isBusy} onClick={() => onRestore(from)}>
              {texts.restoreBefore}
            </Button>
          </>
        ) : null}
        {hasAfter ? (
          <>
            <Button look="quiet" onClick={() => onShow({ path, checkpointId: to })}>
              {texts.showAfter}
            </Button>
            <Button disabled={isBusy} onClick={() => onRestore(to)}>
              {texts.restoreAfter}
            </Button>
          </>
        ) : null}
      </span>
    </li>
  );
}
