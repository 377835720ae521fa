import type { ThreadReply } from '@caribou/contracts';
import { talk } from '../../../text/talk.js';

export type ListedThread = Pick<ThreadReply, 'thread_id' | 'updated_at' | 'status'> & { readonly title: string };

/** A thread as the list shows it. */
export function listedThread(
  thread: { readonly [name in keyof ThreadReply]?: ThreadReply[name] | undefined },
): ListedThread[] {
  const { thread_id, updated_at, status, values, metadata } = thread;
  if (thread_id === undefined || updated_at === undefined || status === undefined) return [];
  const title = values?.['title'] ?? metadata?.['title'];
  return [{ thread_id, updated_at, status, title: typeof title === 'string' && title !== '' ? title : talk.untitled }];
}

/** The newest threads in front of the others, each once, those with the words of a search in their titles. */
export function mergeThreads(
  newest: readonly ListedThread[],
  pages: readonly (readonly ListedThread[])[],
  search: string,
): readonly ListedThread[] {
  const words = search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const seen = new Set<string>();
  return [newest, ...pages].flat().filter(({ thread_id: id, title }) => {
    if (seen.has(id)) return false;
    seen.add(id);
    const lower = title.toLocaleLowerCase();
    return words.every((word) => lower.includes(word));
  });
}
