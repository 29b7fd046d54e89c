import { type ReactNode, useEffect } from 'react'
import { cx } from './cx'
import styles from './Page.module.css'

type Props = { title: ReactNode; tab?: string; over?: ReactNode; under?: ReactNode; actions?: ReactNode; children: ReactNode }

/** A page: its title (also the browser tab's), what can be done, its content. */
export function Page({ title, tab, over, under, actions, children }: Props) {
  const name = tab ?? (typeof title === 'string' ? title : '')
  useTabTitle(name)
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div className={styles.titles}>
          {over && <div className={styles.over}>{over}</div>}
          <h1 className={styles.title}>{title}</h1>
          {under && <div className={styles.under}>{under}</div>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export const Columns = ({ children }: { children: ReactNode }) => <div className={styles.columns}>{children}</div>
export const Column = ({ children, className }: { children: ReactNode; className?: string }) => <div className={cx(styles.column, className)}>{children}</div>

let tabName = ''
let tabCount = 0
function writeTab() {
  document.title = `${tabCount > 0 ? `(${tabCount}) ` : ''}${tabName ? `${tabName} · ` : ''}Dogwatch`
}

function useTabTitle(name: string) {
  useEffect(() => {
    if (!name) return
    tabName = name
    writeTab()
  }, [name])
}

/** A number before the tab's title, so that a tab in the background tells. */
export function useTabCount(count: number) {
  useEffect(() => {
    tabCount = count
    writeTab()
  }, [count])
}
