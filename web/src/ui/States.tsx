import type { ReactNode } from 'react'
import { useT } from '@/i18n'
import { problemWords } from '@/i18n/problems'
import type { Tone } from './Badge'
import { Button } from './Button'
import { cx } from './cx'
import { Icon, type IconName } from './Icon'
import styles from './States.module.css'

// The states of a list beside its data: loading, empty with the next step, failed
// with another try.

export function Bone({ width = '100%', height = 14 }: { width?: string | number; height?: number }) {
  return <span className={styles.bone} style={{ width, height }} />
}

/** Grey rows as tall as what will stand there, so that nothing jumps. */
export function Bones({ rows = 4, height = 40 }: { rows?: number; height?: number }) {
  const t = useT()
  return (
    <div className={styles.bones} role="status" aria-label={t.common.loading}>
      {Array.from({ length: rows }, (_, i) => <Bone key={i} height={height} />)}
    </div>
  )
}

export function Empty({ icon, title, hint, children }: { icon?: IconName; title: string; hint?: string; children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      {icon && <Icon name={icon} size={28} />}
      <p className={styles.emptyTitle}>{title}</p>
      {hint && <p className={styles.emptyHint}>{hint}</p>}
      {children && <div className={styles.emptyAction}>{children}</div>}
    </div>
  )
}

/** A line for a list in which nothing is no news. */
export const Nothing = ({ children }: { children: ReactNode }) => <p className={styles.quiet}>{children}</p>

/** What went wrong, in words and with the word that logs and the API use. */
export function Failure({ error, title, onRetry }: { error: unknown; title?: string; onRetry?: () => void }) {
  const t = useT()
  const { text, code } = problemWords(t, error)
  return (
    <div className={styles.failure} role="alert">
      <Icon name="alert" />
      <div>
        <strong>{title ?? t.errors.title}</strong>
        {text} {code && <code>{code}</code>}
      </div>
      {onRetry && <Button small icon="refresh" onClick={onRetry}>{t.common.retry}</Button>}
    </div>
  )
}

export function Notice({ tone, icon, children, action }: { tone: Tone; icon?: IconName; children: ReactNode; action?: ReactNode }) {
  return (
    <div className={cx(styles.notice, styles[tone])}>
      {icon && <Icon name={icon} />}
      <p>{children}</p>
      {action}
    </div>
  )
}
