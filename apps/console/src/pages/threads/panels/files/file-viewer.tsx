import { useState } from 'react';
import { Button } from '../../../../components/button.js';
import { Dialog } from '../../../../components/dialog.js';
import { panels } from '../../../../text/panels.js';
import { files as texts } from '../../../../text/panels-files.js';
import styles from '../panels.module.css';
import { DownloadButton } from './download.js';
import { type FileRef, isEditable, nameOf } from './file-ref.js';
import { HtmlPreview } from './html-preview.js';
import { MediaPreview } from './media-preview.js';
import { previewKindOf } from './preview-kind.js';
import { TextEditor } from './text-editor.js';
import { TextPreview } from './text-preview.js';

interface ViewerProps {
  readonly threadId: string;
  readonly file: FileRef;
  readonly onClose: () => void;
}

/** A file over the page: shown as what it is, never executed, and edited where the server takes it. */
export function FileViewer({ threadId, file, onClose }: ViewerProps) {
  const [isEdited, setEdited] = useState(false);
  const kind = previewKindOf(file.path);
  const canEdit = isEditable(file) && (kind === 'text' || kind === 'markdown' || kind === 'html');
  return (
    <Dialog title={nameOf(file.path)} isOpen isWide onClose={onClose}>
      {isEdited ? (
        <TextEditor threadId={threadId} file={file} onClose={() => setEdited(false)} />
      ) : (
        <Preview threadId={threadId} file={file} />
      )}
      <div className={styles['row']}>
        <DownloadButton file={file} />
        {canEdit && !isEdited ? <Button onClick={() => setEdited(true)}>{texts.edit}</Button> : null}
        <Button onClick={onClose}>{panels.close}</Button>
      </div>
    </Dialog>
  );
}

function Preview({ threadId, file }: Omit<ViewerProps, 'onClose'>) {
  const kind = previewKindOf(file.path);
  switch (kind) {
    case 'image':
    case 'audio':
    case 'video':
      return <MediaPreview threadId={threadId} file={file} kind={kind} />;
    case 'pdf':
      return <p>{texts.pdf}</p>;
    case 'html':
      return <HtmlPreview threadId={threadId} file={file} />;
    case 'markdown':
    case 'text':
      return <TextPreview threadId={threadId} file={file} isMarkdown={kind === 'markdown'} />;
  }
}
