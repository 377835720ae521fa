import type { FileDiffReply } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { getFileDiff } from '../../api/trace.js';
import { Failure, Loading } from '../../components/notice.js';
import { explain } from '../../text/explain.js';
import { BoundedText } from './bounded-text.js';
import styles from './runs.module.css';

interface ChangedFilesProps {
  readonly threadId: string;
  /** Checkpoints. */
  readonly from: string;
  readonly to: string;
}

/** What differs between the files of two checkpoints. */
export function ChangedFiles({ threadId, from, to }: ChangedFilesProps) {
  const diff = useQuery({
    queryKey: ['file-diff', threadId, from, to],
    queryFn: ({ signal }) => getFileDiff({ params: { thread_id: threadId }, query: { from, to }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (diff.isPending) return <Loading />;
  if (diff.error !== null) return <Failure error={diff.error} onRetry={() => void diff.refetch()} />;
  const { summary, files } = diff.data;
  return (
    <section aria-label={explain.files}>
      <p>
        {files.length === 0
          ? explain.noFileChanges
          : explain.fileSummary(summary.added, summary.changed, summary.removed)}
      </p>
      {files.map((file) => (
        <ChangedFile key={file.path} file={file} />
      ))}
    </section>
  );
}

const ChangedFile = ({ file }: { readonly file: FileDiffReply['files'][number] }) => (
  <details className={styles['nested']}>
    <summary>
      <bdi>{file.path}</bdi> ({explain.fileChanges[file.change]})
    </summary>
    {file.diff_omitted === null ? <BoundedText text={file.diff} /> : explain.filesOmitted[file.diff_omitted]}
  </details>
);
