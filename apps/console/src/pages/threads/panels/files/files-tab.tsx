import { lazy, Suspense, useState } from 'react';
import { Loading } from '../../../../components/notice.js';
import { panels } from '../../../../text/panels.js';
import { files as texts } from '../../../../text/panels-files.js';
import { useConversation } from '../../conversation-context.js';
import styles from '../panels.module.css';
import { FileItem } from './file-item.js';
import type { FileRef } from './file-ref.js';
import { UploadArea } from './upload-area.js';
import { UploadsList } from './uploads-list.js';
import { WorkspaceFiles } from './workspace-files.js';

const FileViewer = lazy(async () => ({ default: (await import('./file-viewer.js')).FileViewer }));

/** Presented files that are listed. */
const MAX_ARTIFACTS = 500;

/** Uploads, presented files and all files of the conversation, each with a preview. */
export function FilesTab() {
  const { threadId, exists, values } = useConversation();
  const [shown, setShown] = useState<FileRef | undefined>(undefined);
  const artifacts = values.artifacts.slice(-MAX_ARTIFACTS);
  return (
    <div className={styles['stack']}>
      <h2>{texts.uploads}</h2>
      <UploadArea threadId={threadId} />
      <UploadsList threadId={threadId} onShow={setShown} />
      <h2>{texts.artifacts}</h2>
      {artifacts.length === 0 ? <p className={styles['quiet']}>{texts.noArtifacts}</p> : null}
      <ul className={styles['list']} aria-label={texts.artifacts}>
        {artifacts.map((path) => (
          <FileItem key={path} file={{ path }} onShow={setShown} />
        ))}
      </ul>
      {artifacts.length === values.artifacts.length ? null : <p className={styles['quiet']}>{texts.truncated}</p>}
      <h2>{texts.workspace}</h2>
      {exists ? (
        <WorkspaceFiles threadId={threadId} onShow={setShown} />
      ) : (
        <p className={styles['quiet']}>{panels.noConversation}</p>
      )}
      {shown === undefined ? null : (
        <Suspense fallback={<Loading />}>
          <FileViewer key={shown.path} threadId={threadId} file={shown} onClose={() => setShown(undefined)} />
        </Suspense>
      )}
    </div>
  );
}
