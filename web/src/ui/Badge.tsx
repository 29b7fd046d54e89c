import type { ReactNode } from 'react'
import styles from './Badge.module.css'
import { cx } from './cx'
import { Icon, type IconName } from './Icon'

export type Tone = 'neutral' | 'info' | 'good' | 'warn' | 'bad'

/** A state in a word, a colour and an icon: never by colour alone. */
export function Badge({ tone = 'neutral', icon, moving, plain, title, children }: { tone?: Tone; icon?: IconName; moving?: boolean; plain?: boolean; title?: string; children: ReactNode }) {
  return (
    <span className={cx(styles.badge, styles[tone], moving && styles.moving, plain && styles.plain)} title={title}>
      {icon && <Icon name={icon} size={14} />}
      {children}
    </span>
  )
}
