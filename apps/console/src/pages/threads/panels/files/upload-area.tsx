import type { fileRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { type DragEvent, useRef, useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { Button } from '../../../../components/button.js';
import { Notice } from '../../../../components/notice.js';
import { formatBytes } from '../../../../text/format.js';
import { files as texts } from '../../../../text/panels-files.js';
import styles from '../panels.module.css';
import { readDropped } from './dropped-files.js';
import own from './files.module.css';
import { useUploads } from './thread-uploads.js';
import { UploadProgress } from './upload-progress.js';

const getLimits = endpoint<typeof fileRoutes.limits>('GET', '/threads/:thread_id/uploads/limits');

/** A place for files to be dropped or chosen, with the limits and what becomes of each file. */
export function UploadArea({ threadId }: { readonly threadId: string }) {
  const { queue, items } = useUploads(threadId);
  const [isOver, setOver] = useState(false);
  const [folders, setFolders] = useState<readonly string[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const limits = useQuery({
    queryKey: ['upload-limits'],
    queryFn: ({ signal }) => getLimits({ params: { thread_id: threadId }, signal }),
    staleTime: 300_000,
  });
  // Without the limits the server decides, which refuses what is too large.
  const maxFileBytes = limits.data?.max_file_size ?? Number.POSITIVE_INFINITY;
  const add = (files: readonly File[]): void => queue.add(files, { maxFileBytes });
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const dropped = readDropped(event.dataTransfer);
    setFolders(dropped.folders);
    add(dropped.files);
  };
  return (
    <div
      className={`${own['drop']} ${isOver ? own['over'] : ''}`}
      data-drop
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <div className={styles['row']}>
        <span>{isOver ? texts.dropNow : texts.drop}</span>
        <Button onClick={() => input.current?.click()}>{texts.choose}</Button>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label={texts.choose}
          onChange={(event) => {
            add([...(event.target.files ?? [])]);
            event.target.value = '';
          }}
        />
      </div>
      {limits.data === undefined ? null : (
        <p className={styles['quiet']}>{texts.limits(limits.data.max_files, formatBytes(limits.data.max_file_size))}</p>
      )}
      {folders.map((name) => (
        <Notice key={name} tone="warn">
          {texts.folder(name)}
        </Notice>
      ))}
      <UploadProgress items={items} queue={queue} />
    </div>
  );
}
