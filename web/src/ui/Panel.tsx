import { type ReactNode, useId } from 'react'
import { cx } from './cx'
import styles from './Panel.module.css'

type Props = { title?: ReactNode; count?: ReactNode; hint?: ReactNode; aside?: ReactNode; flush?: boolean; /** What is shown is the answer to an earlier question. */ old?: boolean; className?: string; children: ReactNode }

/** A titled region of a page. */
export function Panel({ title, count, hint, aside, flush, old, className, children }: Props) {
  const id = useId()
  return (
    <section className={cx(styles.panel, className)} aria-labelledby={title ? id : undefined}>
      {(title || aside) && (
        <header className={styles.head}>
          {title && (
            <h2 id={id} className={styles.title}>
              {title}
              {count !== undefined && <span className={styles.count}>{count}</span>}
            </h2>
          )}
          {aside && <div className={styles.aside}>{aside}</div>}
        </header>
      )}
      {hint && <p className={styles.hint}>{hint}</p>}
      <div className={cx(styles.body, flush && styles.flush, old && styles.old)} aria-busy={old || undefined}>{children}</div>
    </section>
  )
}
