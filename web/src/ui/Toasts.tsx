import { type ReactNode, useSyncExternalStore } from 'react'
import { useT } from '@/i18n'
import type { Dict } from '@/i18n/en'
import { problemWords } from '@/i18n/problems'
import { IconButton } from './Button'
import { cx } from './cx'
import { Icon } from './Icon'
import styles from './Toasts.module.css'

/** Something to do about it, such as taking it back. */
type Action = { label: string; run: () => void }
type Toast = { id: number; tone: 'good' | 'bad'; content: ReactNode; action?: Action }

let toasts: Toast[] = []
let next = 1
const listeners = new Set<() => void>()
function set(list: Toast[]) {
  toasts = list
  listeners.forEach((l) => l())
}
const drop = (id: number) => set(toasts.filter((t) => t.id !== id))

/** Says what an action came to. Bad news stays longer, what can be answered longest. */
export function toast(content: ReactNode, tone: Toast['tone'] = 'good', action?: Action) {
  const id = next++
  set([...toasts.slice(-2), { id, tone, content, action }])
  window.setTimeout(() => drop(id), action ? 30_000 : tone === 'bad' ? 12_000 : 5_000)
}

/** Says why an action did not work. */
export function toastProblem(t: Dict, error: unknown) {
  const { text, code } = problemWords(t, error)
  toast(<>{text}{code && <> <code>{code}</code></>}</>, 'bad')
}

export function Toasts() {
  const t = useT()
  const list = useSyncExternalStore((l) => (listeners.add(l), () => void listeners.delete(l)), () => toasts)
  return (
    <div className={styles.toasts} role="status" aria-live="polite">
      {list.map((item) => (
        <div key={item.id} className={cx(styles.toast, item.tone === 'bad' && styles.bad)}>
          <Icon name={item.tone === 'bad' ? 'alert' : 'check'} />
          <div>{item.content}</div>
          {item.action && <button type="button" className={styles.action} onClick={() => { drop(item.id); item.action?.run() }}>{item.action.label}</button>}
          <IconButton small label={t.common.close} icon="x" onClick={() => drop(item.id)} />
        </div>
      ))}
    </div>
  )
}
