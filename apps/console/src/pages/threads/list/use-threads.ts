import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo } from 'react';
import { searchThreads } from '../../../api/threads.js';
import { type ListedThread, listedThread, mergeThreads } from './thread-titles.js';

const PAGE_THREADS = 200;
/** While titles are searched all threads are read. */
const SEARCH_PAGE_THREADS = 1_000;
const NEWEST_THREADS = 40;
const POLL_MS = 5_000;

const NEWEST = ['threads', 'newest'];
const OLDER = ['threads', 'older'];

async function readThreads(offset: number, limit: number): Promise<ListedThread[]> {
  const threads = await searchThreads({
    body: {
      limit,
      offset,
      sort_by: 'updated_at',
      sort_order: 'desc',
      select: ['thread_id', 'updated_at', 'status', 'values', 'metadata'],
    },
  });
  return threads.flatMap(listedThread);
}

/** The conversations of the caller, newest first. The newest are read again and again, older ones as the list is scrolled. */
export function useThreads(search: string) {
  const isSearching = search.trim() !== '';
  const newest = useQuery({
    queryKey: NEWEST,
    queryFn: () => readThreads(0, NEWEST_THREADS),
    refetchInterval: POLL_MS,
  });
  const older = useInfiniteQuery({
    queryKey: OLDER,
    queryFn: ({ pageParam }) => readThreads(pageParam, isSearching ? SEARCH_PAGE_THREADS : PAGE_THREADS),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.length === 0 ? undefined : pages.flat().length),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const { fetchNextPage, hasNextPage, isFetchingNextPage, isError } = older;
  useEffect(() => {
    if (isSearching && hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [isSearching, hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  const threads = useMemo(
    () => mergeThreads(newest.data ?? [], older.data?.pages ?? [], search),
    [newest.data, older.data, search],
  );
  return {
    threads,
    isReading: older.isPending || (isSearching && hasNextPage && !isError),
    error: older.error ?? newest.error,
    retry: () => void older.refetch(),
    readMore: () => {
      if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
    },
  };
}

/** Changes the list at once, before it is read again. */
export function useListChanges() {
  const client = useQueryClient();
  const change = useCallback(
    (update: (threads: ListedThread[]) => ListedThread[]): void => {
      client.setQueryData<ListedThread[]>(NEWEST, (threads) => (threads === undefined ? threads : update(threads)));
      client.setQueryData<InfiniteData<ListedThread[], number>>(OLDER, (data) =>
        data === undefined ? data : { ...data, pages: data.pages.map(update) },
      );
      void client.invalidateQueries({ queryKey: NEWEST });
    },
    [client],
  );
  return useMemo(
    () => ({
      removed: (id: string) => change((threads) => threads.filter(({ thread_id: each }) => each !== id)),
      renamed: (id: string, title: string) =>
        change((threads) => threads.map((thread) => (thread.thread_id === id ? { ...thread, title } : thread))),
      refresh: () => void client.invalidateQueries({ queryKey: NEWEST }),
    }),
    [change, client],
  );
}
