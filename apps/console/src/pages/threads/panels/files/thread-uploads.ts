import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { sendUpload } from './send-upload.js';
import { UploadQueue } from './upload-queue.js';

/** Conversations whose uploads are remembered while the page shows something else. */
const MAX_QUEUES = 20;

const queues = new Map<string, UploadQueue<File>>();
/** Called with the thread when one of its files is on the server. */
const listeners = new Set<(threadId: string) => void>();

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The uploads of a thread, which continue while its page is not shown. The oldest of too many are stopped. */
function uploadsOf(threadId: string): UploadQueue<File> {
  const known = queues.get(threadId);
  if (known !== undefined) return known;
  const onDone = (): void => {
    for (const listener of listeners) listener(threadId);
  };
  const queue = new UploadQueue<File>({ send: sendUpload(threadId), wait, onDone });
  queues.set(threadId, queue);
  const [oldest] = queues.keys();
  if (queues.size > MAX_QUEUES && oldest !== undefined) {
    queues.get(oldest)?.close();
    queues.delete(oldest);
  }
  return queue;
}

/** The uploads of a thread and their list; files of the thread are read again when one is done. */
export function useUploads(threadId: string) {
  const client = useQueryClient();
  const queue = useMemo(() => uploadsOf(threadId), [threadId]);
  const items = useSyncExternalStore(queue.subscribe, queue.list);
  useEffect(() => {
    const onDone = (id: string): void => void client.invalidateQueries({ queryKey: ['threads', id, 'files'] });
    listeners.add(onDone);
    return () => void listeners.delete(onDone);
  }, [client]);
  return { queue, items };
}
