import { infiniteQueryOptions, type InfiniteData, type QueryKey } from '@tanstack/react-query'

export type Page<T> = { items: T[]; nextCursor: string | null }
export type PageArgs = { cursor: string | undefined; signal: AbortSignal }

/** A list by keyset pages: what was fetched stays, the next page hangs on its cursor. */
export function pages<T>(queryKey: QueryKey, fetchPage: (args: PageArgs) => Promise<Page<T>>) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage({ cursor: pageParam || undefined, signal }),
    initialPageParam: '',
    getNextPageParam: (last: Page<T>) => last.nextCursor ?? undefined,
  })
}

export const itemsOf = <T>(data: InfiniteData<Page<T>> | undefined): T[] => data?.pages.flatMap((page) => page.items) ?? []

/** Leaves out what is not set: the API refuses what it does not know, an empty filter too. */
export function given<T extends object>(query: T): T {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== '')) as T
}
