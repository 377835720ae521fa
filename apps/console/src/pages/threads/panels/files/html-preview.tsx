import { useEffect, useMemo, useState } from 'react';
import { Button } from '../../../../components/button.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { files as texts } from '../../../../text/panels-files.js';
import styles from '../panels.module.css';
import { type FileRef, nameOf } from './file-ref.js';
import own from './files.module.css';
import { TextPreview } from './text-preview.js';
import { useText } from './use-content.js';

interface HtmlProps {
  readonly threadId: string;
  readonly file: FileRef;
}

/**
 * A page of the agent in a frame with an origin of its own, without scripts, forms and windows, under our policy, so that it loads
 * nothing; or its source.
 */
export function HtmlPreview({ threadId, file }: HtmlProps) {
  const [isSource, setSource] = useState(false);
  return (
    <>
      <div className={styles['row']}>
        <Button aria-pressed={!isSource} onClick={() => setSource(false)}>
          {texts.rendered}
        </Button>
        <Button aria-pressed={isSource} onClick={() => setSource(true)}>
          {texts.source}
        </Button>
      </div>
      {isSource ? <TextPreview threadId={threadId} file={file} /> : <Frame threadId={threadId} file={file} />}
    </>
  );
}

function Frame({ threadId, file }: HtmlProps) {
  const { data, error, refetch } = useText(threadId, file);
  const text = data?.text;
  const address = useMemo(
    () =>
      text === undefined ? undefined : URL.createObjectURL(new Blob([text], { type: 'text/html; charset=utf-8' })),
    [text],
  );
  useEffect(() => () => (address === undefined ? undefined : URL.revokeObjectURL(address)), [address]);
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (address === undefined) return <p>{texts.binary}</p>;
  return (
    <>
      <p className={styles['quiet']}>{texts.html}</p>
      <iframe
        className={own['frame']}
        sandbox=""
        referrerPolicy="no-referrer"
        src={address}
        title={nameOf(file.path)}
      />
    </>
  );
}
