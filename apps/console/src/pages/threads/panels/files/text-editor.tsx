import type { fileRoutes } from '@caribou/contracts';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { ApiError } from '../../../../api/request.js';
import { Button } from '../../../../components/button.js';
import { Failure, Loading, Notice } from '../../../../components/notice.js';
import { files as texts } from '../../../../text/panels-files.js';
import styles from '../panels.module.css';
import { contentPath, type FileRef, nameOf } from './file-ref.js';
import own from './files.module.css';
import { toText } from './preview-kind.js';
import { readWhole } from './read-content.js';

const replaceArtifact = endpoint<typeof fileRoutes.editArtifact>('PUT', '/threads/:thread_id/artifacts/*');

/** The server takes no larger text. */
const MAX_EDIT_BYTES = 2 * 1024 * 1024;

interface EditorProps {
  readonly threadId: string;
  readonly file: FileRef;
  readonly onClose: () => void;
}

interface Opened {
  readonly text: string;
  /** What the text replaces. */
  readonly sha256: string;
}

async function open(threadId: string, file: FileRef): Promise<Opened> {
  const { bytes, sha256 } = await readWhole(contentPath(threadId, file), MAX_EDIT_BYTES);
  const text = toText(bytes);
  if (text === undefined) throw new Error(texts.binary);
  if (sha256 === undefined) throw new Error(texts.noHash);
  return { text, sha256 };
}

/** A text of the outputs, to be edited. What others have saved meanwhile is never replaced without being asked. */
export function TextEditor({ threadId, file, onClose }: EditorProps) {
  const { opened, text, setText, error, isConflict, isSaving, isSaved, load, save } = useEdit(threadId, file);
  if (opened === undefined) return error === undefined ? <Loading /> : <Failure error={error} onRetry={load} />;
  return (
    <>
      <textarea
        className={own['editor']}
        aria-label={texts.editLabel(nameOf(file.path))}
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {isConflict ? (
        <Notice tone="bad">
          <p>{texts.conflict}</p>
          <div className={styles['row']}>
            <Button onClick={load}>{texts.loadNewer}</Button>
            <Button look="danger" onClick={() => void save(true)}>
              {texts.overwrite}
            </Button>
          </div>
        </Notice>
      ) : null}
      {error === undefined ? null : <Failure error={error} />}
      {isSaved ? <Notice>{texts.saved}</Notice> : null}
      <div className={styles['row']}>
        <Button look="primary" disabled={isSaving || text === opened.text} onClick={() => void save(false)}>
          {texts.save}
        </Button>
        <Button onClick={onClose}>{text === opened.text ? texts.closeEdit : texts.cancelEdit}</Button>
      </div>
    </>
  );
}

function useEdit(threadId: string, { path }: FileRef) {
  const queries = useQueryClient();
  const [opened, setOpened] = useState<Opened | undefined>(undefined);
  const [text, setText] = useState('');
  const [error, setError] = useState<unknown>(undefined);
  const [state, setState] = useState<'ready' | 'saving' | 'saved' | 'conflict'>('ready');

  const load = useCallback((): void => {
    setError(undefined);
    setState('ready');
    open(threadId, { path }).then(
      (found) => {
        setOpened(found);
        setText(found.text);
      },
      (failure: unknown) => setError(failure),
    );
  }, [threadId, path]);
  useEffect(load, [load]);

  const save = async (isForced: boolean): Promise<void> => {
    setState('saving');
    setError(undefined);
    try {
      const before = isForced ? await open(threadId, { path }) : opened;
      const { sha256 } = await replaceArtifact({
        params: { thread_id: threadId, '*': path.replace(/^\//, '') },
        body: { content: text, expected_sha256: before?.sha256 ?? '' },
      });
      setOpened({ text, sha256 });
      setState('saved');
      await queries.invalidateQueries({ queryKey: ['threads', threadId, 'files'] });
    } catch (failure) {
      const isConflict = failure instanceof ApiError && failure.status === 412;
      setState(isConflict ? 'conflict' : 'ready');
      if (!isConflict) setError(failure);
    }
  };
  const isSaved = state === 'saved' && text === opened?.text;
  return {
    opened,
    text,
    setText,
    error,
    isConflict: state === 'conflict',
    isSaving: state === 'saving',
    isSaved,
    load,
    save,
  };
}
