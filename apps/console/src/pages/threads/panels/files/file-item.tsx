import type { ReactNode } from 'react';
import { formatBytes } from '../../../../text/format.js';
import { files as texts } from '../../../../text/panels-files.js';
import { HiddenText } from '../interrupts/hidden-text.js';
import styles from '../panels.module.css';
import { DownloadButton } from './download.js';
import type { FileRef } from './file-ref.js';
import own from './files.module.css';

interface FileItemProps {
  readonly file: FileRef;
  /** Shown in place of the path. */
  readonly name?: string;
  readonly facts?: ReactNode;
  readonly actions?: ReactNode;
  readonly onShow: (file: FileRef) => void;
}

/** A file in a list: opened by its name, downloaded, and what else its list offers. */
export const FileItem = ({ file, name, facts, actions, onShow }: FileItemProps) => (
  <li className={styles['item']}>
    <button type="button" className={own['name']} onClick={() => onShow(file)} title={texts.preview}>
      <HiddenText text={name ?? file.path.replace(/^\/mnt\/user-data\//, '')} />
    </button>
    {file.size === undefined ? null : <span className={styles['quiet']}>{formatBytes(file.size)}</span>}
    {facts}
    <span className={styles['row']}>
      <DownloadButton file={file} />
      {actions}
    </span>
  </li>
);
