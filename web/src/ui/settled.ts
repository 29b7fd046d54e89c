import { useEffect, useState } from 'react'

/** A value that follows another once it has stood still for a while, so that typing asks nothing. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  const text = JSON.stringify(value)
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(JSON.parse(text) as T), ms)
    return () => window.clearTimeout(timer)
  }, [text, ms])
  return settled
}
