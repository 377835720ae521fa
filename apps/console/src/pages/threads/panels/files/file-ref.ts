/** A file of a thread: as it is now, or at a checkpoint. */
export interface FileRef {
  /** Virtual path, such as `/mnt/user-data/outputs/report.md`. */
  readonly path: string;
  /** Absent: the newest. */
  readonly checkpointId?: string;
  /** Bytes, if they are known. */
  readonly size?: number;
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Only texts in the outputs can be replaced. */
export const isEditable = ({ path, checkpointId }: FileRef): boolean =>
  checkpointId === undefined && path.startsWith('/mnt/user-data/outputs/');

/** The address of a file's content, relative to the page. */
export function contentPath(threadId: string, { path, checkpointId }: FileRef, isDownload = false): string {
  const parts = path.replace(/^\//, '').split('/').map(encodeURIComponent).join('/');
  const query = new URLSearchParams({
    ...(checkpointId === undefined ? {} : { checkpoint_id: checkpointId }),
    ...(isDownload ? { download: 'true' } : {}),
  }).toString();
  const route = checkpointId === undefined ? 'artifacts' : 'files/content';
  return `api/threads/${encodeURIComponent(threadId)}/${route}/${parts}${query === '' ? '' : `?${query}`}`;
}
