import type { fileRoutes, UploadedFile } from '@caribou/contracts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { Button } from '../../../../components/button.js';
import { Confirm } from '../../../../components/dialog.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { files as texts } from '../../../../text/panels-files.js';
import { useConversation } from '../../conversation-context.js';
import styles from '../panels.module.css';
import { FileItem } from './file-item.js';
import type { FileRef } from './file-ref.js';

const listUploads = endpoint<typeof fileRoutes.list>('GET', '/threads/:thread_id/uploads/list');
const deleteUpload = endpoint<typeof fileRoutes.remove>('DELETE', '/threads/:thread_id/uploads/:filename');

/** How often the list is read while a document is converted. */
const REFRESH_MS = 2_000;

interface UploadsProps {
  readonly threadId: string;
  readonly onShow: (file: FileRef) => void;
}

/** What people have uploaded, with the state of conversions. */
export function UploadsList({ threadId, onShow }: UploadsProps) {
  const { revision, attach } = useConversation();
  const queries = useQueryClient();
  const [deleted, setDeleted] = useState<string | undefined>(undefined);
  const { data, error, refetch } = useQuery({
    queryKey: ['threads', threadId, 'files', 'uploads', revision],
    queryFn: ({ signal }) => listUploads({ params: { thread_id: threadId }, signal }),
    placeholderData: (before) => before,
    refetchInterval: ({ state }) =>
      state.data?.files.some(({ conversion }) => conversion === 'pending') === true ? REFRESH_MS : false,
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.files.length === 0) return <p className={styles['quiet']}>{texts.noUploads}</p>;
  return (
    <>
      <ul className={styles['list']} aria-label={texts.uploads}>
        {data.files.map((file) => (
          <UploadedItem
            key={file.filename}
            file={file}
            onShow={onShow}
            onAttach={() => attach([file])}
            onDelete={() => setDeleted(file.filename)}
          />
        ))}
      </ul>
      {data.truncated ? <p className={styles['quiet']}>{texts.truncated}</p> : null}
      <Confirm
        title={texts.deleteTitle(deleted ?? '')}
        action={texts.delete}
        isOpen={deleted !== undefined}
        onClose={() => setDeleted(undefined)}
        onConfirm={async () => {
          await deleteUpload({ params: { thread_id: threadId, filename: deleted ?? '' } });
          await queries.invalidateQueries({ queryKey: ['threads', threadId, 'files'] });
        }}
      >
        {texts.deleteAbout}
      </Confirm>
    </>
  );
}

interface UploadedItemProps {
  readonly file: UploadedFile;
  readonly onShow: (file: FileRef) => void;
  readonly onAttach: () => void;
  readonly onDelete: () => void;
}

function UploadedItem({ file, onShow, onAttach, onDelete }: UploadedItemProps) {
  const markdown = file.markdown_virtual_path;
  return (
    <FileItem
      file={{ path: file.virtual_path, size: file.size }}
      name={file.filename}
      onShow={onShow}
      facts={file.conversion === undefined ? null : <span className={styles['quiet']}>{conversionOf(file)}</span>}
      actions={
        <>
          {markdown === undefined ? null : (
            <Button look="quiet" onClick={() => onShow({ path: markdown })}>
              {texts.markdownOf(file.filename)}
            </Button>
          )}
          <Button look="quiet" onClick={onAttach}>
            {texts.attach}
          </Button>
          <Button look="danger" onClick={onDelete}>
            {texts.delete}
          </Button>
        </>
      }
    />
  );
}

function conversionOf({ conversion, conversion_error: error }: UploadedFile): string {
  if (conversion === 'failed') return texts.conversion.failed(error ?? '');
  return conversion === 'done' ? texts.conversion.done : texts.conversion.pending;
}
