import { useState } from 'react';
import { Failure, Loading, Notice } from '../../../../components/notice.js';
import { files as texts } from '../../../../text/panels-files.js';
import { type FileRef, nameOf } from './file-ref.js';
import own from './files.module.css';
import { MAX_MEDIA_BYTES, mediaTypeOf } from './preview-kind.js';
import { useBlob } from './use-content.js';

interface MediaProps {
  readonly threadId: string;
  readonly file: FileRef;
  readonly kind: 'image' | 'audio' | 'video';
}

/** An image, a sound or a film from an authenticated request. An SVG is an image here, which runs and loads nothing. */
export function MediaPreview({ threadId, file, kind }: MediaProps) {
  const [isBroken, setBroken] = useState(false);
  const type = mediaTypeOf(file.path) ?? 'application/octet-stream';
  const { address, error, refetch } = useBlob(threadId, file, { type, maxBytes: MAX_MEDIA_BYTES });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (address === undefined) return <Loading />;
  if (isBroken) return <Notice tone="warn">{texts.imageFailed}</Notice>;
  const onError = (): void => setBroken(true);
  switch (kind) {
    case 'image':
      return <img className={own['media']} src={address} alt={nameOf(file.path)} onError={onError} />;
    case 'audio':
      return <audio className={own['audio']} src={address} controls onError={onError} aria-label={nameOf(file.path)} />;
    case 'video':
      return <video className={own['media']} src={address} controls onError={onError} aria-label={nameOf(file.path)} />;
  }
}
