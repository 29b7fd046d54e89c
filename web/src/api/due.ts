import { useEffect, useRef } from 'react'

const graceMs = 1500
const againMs = 4000

/**
 * Looks again when a planned time has passed, until it has moved on. A time that the
 * schedule itself refuses is noted without an event: nothing but its clock says so.
 */
export function useLookAgain(at: string | null | undefined, look: () => void) {
  const latest = useRef(look)
  latest.current = look
  const before = useRef(at)
  useEffect(() => {
    // It moved on for another reason: what came of it is still to be looked at.
    if (before.current && before.current !== at && Date.parse(before.current) <= Date.now()) latest.current()
    before.current = at
    if (!at) return
    let timer: number
    const wait = (ms: number) => {
      timer = window.setTimeout(() => {
        if (!document.hidden) latest.current()
        wait(againMs)
      }, ms)
    }
    const away = Date.parse(at) - Date.now()
    // A timer of more than 24 days fires at once; whoever keeps a page open so long looks anew anyway.
    if (away < 2 ** 31 - graceMs - 1) wait(Math.max(0, away) + graceMs)
    return () => window.clearTimeout(timer)
  }, [at])
}
