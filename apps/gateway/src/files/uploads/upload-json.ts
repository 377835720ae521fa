import type { UploadedFile } from '@caribou/contracts';
import { VIRTUAL_ROOT } from '@caribou/core';
import type { FileEntry } from '@caribou/files';
import type { DocumentState } from './document-state.js';

/** The virtual path of an uploaded file. */
export const uploadPath = (name: string): string => `${VIRTUAL_ROOT}/uploads/${name}`;

const artifactUrl = (threadId: string, path: string): string =>
  `/api/threads/${threadId}/artifacts${path.split('/').map(encodeURIComponent).join('/')}`;

/** An uploaded file as clients read it. */
export function uploadJson(
  threadId: string,
  { name, sizeBytes, modifiedMs }: FileEntry,
  state?: DocumentState,
): UploadedFile {
  const path = uploadPath(name);
  const dot = name.lastIndexOf('.');
  return {
    filename: name,
    size: sizeBytes,
    path,
    virtual_path: path,
    artifact_url: artifactUrl(threadId, path),
    extension: dot > 0 ? name.slice(dot) : '',
    modified: modifiedMs / 1_000,
    ...conversionJson(threadId, state),
  };
}

function conversionJson(threadId: string, state: DocumentState | undefined): Partial<UploadedFile> {
  switch (state?.status) {
    case 'pending':
      return { conversion: 'pending' };
    case 'failed':
      return { conversion: 'failed', conversion_error: state.reason };
    case 'done': {
      const path = uploadPath(state.companion);
      return {
        conversion: 'done',
        markdown_file: state.companion,
        markdown_path: path,
        markdown_virtual_path: path,
        markdown_artifact_url: artifactUrl(threadId, path),
      };
    }
    default:
      return {};
  }
}
