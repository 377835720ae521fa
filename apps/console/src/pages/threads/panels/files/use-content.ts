import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { contentPath, type FileRef } from './file-ref.js';
import { MAX_TEXT_BYTES, toText } from './preview-kind.js';
import { readStart, readWhole } from './read-content.js';

const keyOf = (threadId: string, { path, checkpointId }: FileRef, what: string): readonly unknown[] => [
  'threads',
  threadId,
  'files',
  'content',
  what,
  path,
  checkpointId ?? 'now',
];

/** The beginning of a file as text; its `text` is undefined when it is no text. */
export const useText = (threadId: string, file: FileRef) =>
  useQuery({
    queryKey: keyOf(threadId, file, 'text'),
    queryFn: async ({ signal }) => {
      const content = await readStart(contentPath(threadId, file), MAX_TEXT_BYTES, signal);
      return { text: toText(content.bytes), total: content.total, isWhole: content.isWhole };
    },
    // Contents are large: they are read again and not stored.
    gcTime: 0,
  });

/** The address of a file's content within this page, of a type that we choose. It is released with the component. */
export function useBlob(
  threadId: string,
  file: FileRef,
  options: { readonly type: string; readonly maxBytes: number },
) {
  const { type, maxBytes } = options;
  const query = useQuery({
    queryKey: keyOf(threadId, file, 'bytes'),
    queryFn: async ({ signal }) => (await readWhole(contentPath(threadId, file), maxBytes, signal)).bytes,
    retry: false,
    gcTime: 0,
  });
  const bytes = query.data;
  const address = useMemo(
    () => (bytes === undefined ? undefined : URL.createObjectURL(new Blob([bytes], { type }))),
    [bytes, type],
  );
  useEffect(() => () => (address === undefined ? undefined : URL.revokeObjectURL(address)), [address]);
  return { address, error: query.error, refetch: query.refetch };
}
