import { useEffect, useRef } from 'react'

/** A key that is not meant for a field, a dialog or the browser. */
function forPage(e: KeyboardEvent): boolean {
  if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return false
  const target = e.target as HTMLElement | null
  if (target?.closest('input:not([type=checkbox]), textarea, select, [contenteditable=true]')) return false
  return document.querySelector('dialog[open]') === null
}

// How long "g" waits for its second key.
const chordMs = 1200

/** Page shortcuts: `n`, or two keys in a row as `g i`. */
export function useShortcuts(shortcuts: Record<string, () => void>) {
  const latest = useRef(shortcuts)
  latest.current = shortcuts
  useEffect(() => {
    let first = ''
    let timer: number | undefined
    const onKey = (e: KeyboardEvent) => {
      if (!forPage(e)) return
      const chord = first ? `${first} ${e.key}` : e.key
      first = ''
      window.clearTimeout(timer)
      const act = latest.current[chord] ?? latest.current[e.key]
      if (act) {
        e.preventDefault()
        act()
      } else if (Object.keys(latest.current).some((s) => s.startsWith(`${e.key} `))) {
        first = e.key
        timer = window.setTimeout(() => (first = ''), chordMs)
      }
    }
    window.addEventListener('keydown', onKey)
    return () => {
      window.removeEventListener('keydown', onKey)
      window.clearTimeout(timer)
    }
  }, [])
}

/** Moves the focus along what is marked as a row. */
export function moveRow(step: 1 | -1) {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')].filter((row) => row.offsetParent !== null)
  if (rows.length === 0) return
  const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement))
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))
  rows[next]?.focus()
  rows[next]?.scrollIntoView({ block: 'nearest' })
}

export function focusSearch() {
  document.querySelector<HTMLElement>('[data-search]')?.focus()
}
