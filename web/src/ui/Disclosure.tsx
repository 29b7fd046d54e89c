import type { ReactNode } from 'react'
import styles from './Disclosure.module.css'
import { Icon } from './Icon'

export function Disclosure({ summary, open, children }: { summary: ReactNode; open?: boolean; children: ReactNode }) {
  return (
    <details className={styles.disclosure} open={open}>
      <summary><Icon name="right" size={14} />{summary}</summary>
      <div className={styles.body}>{children}</div>
    </details>
  )
}
