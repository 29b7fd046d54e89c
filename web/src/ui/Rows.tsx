import { type ReactNode, useEffect, useRef } from 'react'
import { useT } from '@/i18n'
import { Button } from './Button'
import styles from './Rows.module.css'

export const rows = styles

export const Rows = ({ children, label }: { children: ReactNode; label?: string }) => <div className={styles.rows} role="list" aria-label={label}>{children}</div>
export const RowItem = ({ children }: { children: ReactNode }) => <div role="listitem" className={styles.row}>{children}</div>

/** The next page of a list: by itself when its end comes into sight, by button otherwise. */
export function More({ query }: { query: { hasNextPage: boolean; isFetchingNextPage: boolean; isError: boolean; fetchNextPage: () => unknown } }) {
  const t = useT()
  const ref = useRef<HTMLDivElement>(null)
  const { hasNextPage, isFetchingNextPage, isError, fetchNextPage } = query
  useEffect(() => {
    const end = ref.current
    if (!end || isFetchingNextPage || isError) return
    const observer = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && void fetchNextPage(), { rootMargin: '300px' })
    observer.observe(end)
    return () => observer.disconnect()
  }, [hasNextPage, isFetchingNextPage, isError, fetchNextPage])
  if (!hasNextPage) return null
  return (
    <div ref={ref} className={styles.more}>
      <Button small look="quiet" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>{t.common.more}</Button>
    </div>
  )
}

/** Names and values, one pair a line. Pairs without a value are left out. */
export function Facts({ items }: { items: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={styles.facts}>
      {items.filter(([, value]) => value !== null && value !== undefined && value !== false).map(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name}=`}>{value}</dd>,
      ])}
    </dl>
  )
}
