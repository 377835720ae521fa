import type { UploadedFile } from '@caribou/contracts';
import { VIRTUAL_ROOT } from '@caribou/core';
import type { UserFiles } from '@caribou/sandbox';

type Entry = Awaited<ReturnType<UserFiles['list']>>['files'][number];

/** The virtual path of an uploaded file. */
export const uploadPath = (name: string): string => `${VIRTUAL_ROOT}/uploads/${name}`;

/** An uploaded file as clients read it. */
export function uploadJson(threadId: string, { name, sizeBytes, modifiedMs }: Entry): UploadedFile {
  const path = uploadPath(name);
  const dot = name.lastIndexOf('.');
  return {
    filename: name,
    size: sizeBytes,
    path,
    virtual_path: path,
    artifact_url: `/api/threads/${threadId}/artifacts${path.split('/').map(encodeURIComponent).join('/')}`,
    extension: dot > 0 ? name.slice(dot) : '',
    modified: modifiedMs / 1_000,
  };
}
