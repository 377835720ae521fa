import type { fileHistoryRoutes } from '@caribou/contracts';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { ApiError } from '../../../../api/request.js';
import { Button } from '../../../../components/button.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { formatTime } from '../../../../text/format.js';
import { panels } from '../../../../text/panels.js';
import { files as texts } from '../../../../text/panels-files.js';
import { useConversation } from '../../conversation-context.js';
import styles from '../panels.module.css';
import { FileItem } from './file-item.js';
import type { FileRef } from './file-ref.js';

const listFiles = endpoint<typeof fileHistoryRoutes.list>('GET', '/threads/:thread_id/files');

const FILES_OF_PAGE = 100;
const directories = ['all', 'workspace', 'outputs', 'uploads'] as const;
type Directory = (typeof directories)[number];

interface WorkspaceProps {
  readonly threadId: string;
  readonly onShow: (file: FileRef) => void;
}

/** All files of the thread by path, in pages. Servers without an object store cannot list them. */
export function WorkspaceFiles({ threadId, onShow }: WorkspaceProps) {
  const { revision } = useConversation();
  const [directory, setDirectory] = useState<Directory>('all');
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['threads', threadId, 'files', 'all', directory, revision],
    initialPageParam: '',
    queryFn: ({ signal, pageParam }) =>
      listFiles({
        params: { thread_id: threadId },
        query: {
          limit: FILES_OF_PAGE,
          ...(pageParam === '' ? {} : { after: pageParam }),
          ...(directory === 'all' ? {} : { directory: `/mnt/user-data/${directory}` }),
        },
        signal,
      }),
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  if (error instanceof ApiError && error.status === 403) return <p className={styles['quiet']}>{texts.noStore}</p>;
  const files = data?.pages.flatMap((page) => page.files) ?? [];
  return (
    <>
      <label className={styles['field']}>
        {texts.directory}
        <select
          className={styles['input']}
          value={directory}
          onChange={(event) => setDirectory(directoryOf(event.target.value))}
        >
          {directories.map((name) => (
            <option key={name} value={name}>
              {texts.directories[name]}
            </option>
          ))}
        </select>
      </label>
      {error === null ? null : <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null ? <Loading /> : null}
      {data !== undefined && files.length === 0 ? <p className={styles['quiet']}>{texts.noFiles}</p> : null}
      <ul className={styles['list']} aria-label={texts.workspace}>
        {files.map(({ path, size, modified }) => (
          <FileItem
            key={path}
            file={{ path, size }}
            onShow={onShow}
            facts={<span className={styles['quiet']}>{formatTime(modified * 1_000)}</span>}
          />
        ))}
      </ul>
      {hasNextPage ? (
        <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {panels.more}
        </Button>
      ) : null}
    </>
  );
}

const directoryOf = (text: string): Directory => directories.find((name) => name === text) ?? 'all';
