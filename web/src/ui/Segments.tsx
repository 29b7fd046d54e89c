import { type KeyboardEvent, type ReactNode, useRef } from 'react'
import styles from './Segments.module.css'

export const segmentsClass = styles.segments
export const segmentClass = styles.segment

type Props<T extends string> = { label: string; options: readonly (readonly [T, ReactNode])[]; value: T; onPick: (value: T) => void }

/** One of a few, all in sight. Arrow keys move, as in a group of radio buttons. */
export function Segments<T extends string>({ label, options, value, onPick }: Props<T>) {
  const group = useRef<HTMLDivElement>(null)
  const onKeyDown = (e: KeyboardEvent) => {
    const step = e.key === 'ArrowRight' || e.key === 'ArrowDown' ? 1 : e.key === 'ArrowLeft' || e.key === 'ArrowUp' ? -1 : 0
    if (!step) return
    e.preventDefault()
    const at = (options.findIndex(([key]) => key === value) + step + options.length) % options.length
    onPick(options[at]![0])
    group.current?.querySelectorAll<HTMLElement>('[role=radio]')[at]?.focus()
  }
  return (
    <div ref={group} role="radiogroup" aria-label={label} className={styles.segments} onKeyDown={onKeyDown}>
      {options.map(([key, text]) => (
        <button key={key} type="button" role="radio" aria-checked={key === value} tabIndex={key === value ? 0 : -1} className={styles.segment} onClick={() => onPick(key)}>
          {text}
        </button>
      ))}
    </div>
  )
}
