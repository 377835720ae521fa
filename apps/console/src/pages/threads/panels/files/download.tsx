import { useState } from 'react';
import { readApiKey } from '../../../../api/credentials.js';
import { addressOf } from '../../../../api/request.js';
import { Button } from '../../../../components/button.js';
import { failureText } from '../../../../components/notice.js';
import { formatBytes } from '../../../../text/format.js';
import { files as texts } from '../../../../text/panels-files.js';
import { useConversation } from '../../conversation-context.js';
import styles from '../panels.module.css';
import { contentPath, type FileRef, nameOf } from './file-ref.js';
import { readStart } from './read-content.js';

/** Most that is downloaded with an API key: a link cannot send it, so the file is in memory before it is saved. */
const MAX_BLOB_BYTES = 512 * 1024 * 1024;

/** Saves a file on the reader's machine: by a link with a session, or through memory with an API key. */
export function DownloadButton({ file }: { readonly file: FileRef }) {
  const { threadId } = useConversation();
  const [error, setError] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const path = contentPath(threadId, file, true);
  if (readApiKey() === null)
    return (
      <a href={addressOf(path)} download={nameOf(file.path)}>
        {texts.download}
      </a>
    );
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const { bytes, isWhole } = await readStart(path, MAX_BLOB_BYTES);
      if (isWhole) saveBytes(bytes, nameOf(file.path));
      else setError(texts.downloadLimit(formatBytes(MAX_BLOB_BYTES)));
    } catch (failure) {
      setError(failureText(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button look="quiet" disabled={isBusy} onClick={() => void save()}>
        {texts.download}
      </Button>
      {error === undefined ? null : (
        <span role="alert" className={styles['warn']}>
          {error}
        </span>
      )}
    </>
  );
}

/** Time in which the browser begins to save a blob, in milliseconds. */
const REVOKE_MS = 60_000;

function saveBytes(bytes: Uint8Array<ArrayBuffer>, name: string): void {
  const address = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), REVOKE_MS);
}
