import type { ReactNode } from 'react'
import { useT } from '@/i18n'
import { Bones, Failure } from './States'

type Query<T> = { data: T | undefined; error: unknown; refetch: () => unknown }

/**
 * What a query has come to: bones, failure with another try, or the data. A failed
 * refetch keeps the data that is there; the live sign says that it may be old.
 */
export function Answer<T>({ query, bones, children }: { query: Query<T>; bones?: ReactNode; children: (data: T) => ReactNode }) {
  const t = useT()
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Failure title={t.errors.load} error={query.error} onRetry={() => void query.refetch()} />
  return <>{bones ?? <Bones />}</>
}
