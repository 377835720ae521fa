import { useInfiniteQuery } from '@tanstack/react-query';

interface Paged {
  readonly next_cursor: string | null;
}

/** Pages that are read one after the other, each by the cursor of the page before. */
export interface Pages<Reply> {
  readonly replies: readonly Reply[];
  readonly isPending: boolean;
  readonly error: unknown;
  readonly hasMore: boolean;
  readonly isReadingMore: boolean;
  readonly readMore: () => void;
  readonly reload: () => void;
}

/** @param key names what is read, with its filters; a change begins with the first page */
export function usePages<Reply extends Paged>(
  key: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Reply>,
): Pages<Reply> {
  const query = useInfiniteQuery({
    queryKey: ['records', ...key],
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Reply) => last.next_cursor ?? undefined,
  });
  return {
    replies: query.data?.pages ?? [],
    isPending: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isReadingMore: query.isFetchingNextPage,
    readMore: () => void query.fetchNextPage(),
    reload: () => void query.refetch(),
  };
}
