import { useState } from 'react';
import { Button } from '../../../../components/button.js';
import { Markdown } from '../../../../components/markdown/markdown.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { formatBytes } from '../../../../text/format.js';
import { files as texts } from '../../../../text/panels-files.js';
import { hasHidden, revealAsText } from '../interrupts/hidden-characters.js';
import styles from '../panels.module.css';
import { type FileRef, nameOf } from './file-ref.js';
import { MAX_TEXT_BYTES } from './preview-kind.js';
import { useText } from './use-content.js';

interface TextProps {
  readonly threadId: string;
  readonly file: FileRef;
  readonly isMarkdown?: boolean;
}

/** The first part of a text. Characters that cannot be seen are shown by their codes. */
export function TextPreview({ threadId, file, isMarkdown = false }: TextProps) {
  const [isSource, setSource] = useState(!isMarkdown);
  const { data, error, refetch } = useText(threadId, file);
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const { text, total, isWhole } = data;
  if (text === undefined) return <p>{texts.binary}</p>;
  return (
    <>
      {isWhole ? null : (
        <p className={styles['quiet']}>
          {texts.cut(formatBytes(MAX_TEXT_BYTES), formatBytes(total ?? MAX_TEXT_BYTES))}
        </p>
      )}
      {isMarkdown ? (
        <div className={styles['row']}>
          <Button aria-pressed={!isSource} onClick={() => setSource(false)}>
            {texts.rendered}
          </Button>
          <Button aria-pressed={isSource} onClick={() => setSource(true)}>
            {texts.source}
          </Button>
        </div>
      ) : null}
      {isSource && hasHidden(text) ? <p className={styles['warn']}>{texts.hidden}</p> : null}
      {isSource ? (
        <pre className={styles['pre']} tabIndex={0} aria-label={nameOf(file.path)}>
          {revealAsText(text)}
        </pre>
      ) : (
        <Markdown text={text} />
      )}
    </>
  );
}
