import { useSyncExternalStore } from 'react'
import { useLocale } from '@/i18n'
import { duration, full, moment, relative, sameClock } from '@/i18n/format'
import { cx } from './cx'
import styles from './When.module.css'

// One clock for the whole page: one beat a second, only while something shows it.
const listeners = new Set<() => void>()
let now = Date.now()
let timer: number | undefined
function subscribe(listener: () => void) {
  listeners.add(listener)
  timer ??= window.setInterval(() => {
    now = Date.now()
    listeners.forEach((l) => l())
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) {
      window.clearInterval(timer)
      timer = undefined
    }
  }
}

/** The current time, no finer than asked for: what shows minutes is not drawn every second. */
export function useNow(everyMs = 1000): number {
  return useSyncExternalStore(subscribe, () => Math.floor((timer === undefined ? Date.now() : now) / everyMs) * everyMs)
}

type Props = {
  at: string | null | undefined
  /** The zone that the moment was planned in: shown beside the viewer's when its clock differs. */
  zone?: string
  /** "in 5 minutes" instead of the clock's time. */
  ago?: boolean
  /** Both. */
  both?: boolean
  seconds?: boolean
}

/** A moment in the viewer's zone. Hovering or reading aloud gives it in full. */
export function When({ at, zone, ago, both, seconds }: Props) {
  const locale = useLocale()
  const time = at ? Date.parse(at) : Number.NaN
  const near = Math.abs(time - Date.now()) < 90_000
  const current = useNow(near ? 1000 : 30_000)
  if (Number.isNaN(time)) return <>–</>
  const { lang, t } = locale
  const away = relative(lang, time, near ? Date.now() : current)
  const clock = moment(lang, locale.zone, time, current, seconds)
  const there = zone && !sameClock(zone, locale.zone, time) ? moment(lang, zone, time, current, seconds) : null
  const title = [full(lang, locale.zone, time), zone && there ? full(lang, zone, time) : ''].filter(Boolean).join('\n')
  return (
    <time dateTime={new Date(time).toISOString()} title={title} className={styles.moment}>
      <span className={styles.part}>{ago && away ? away : clock}</span>
      {both && away && <> <span className={cx(styles.part, styles.beside)}>· {away}</span></>}
      {there && <> <span className={styles.beside}>· {t.common.thereIs(there, zone!)}</span></>}
    </time>
  )
}

/** How long something took, or has been taking. */
export function Took({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const { lang } = useLocale()
  const current = useNow(to ? 60_000 : 1000)
  if (!from) return <>–</>
  const seconds = ((to ? Date.parse(to) : Math.max(current, Date.now())) - Date.parse(from)) / 1000
  return <span className={styles.when}>{seconds > 0 && seconds < 1 ? '<1s' : duration(lang, seconds, 'narrow')}</span>
}
