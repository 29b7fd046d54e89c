import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'
export const themes: Theme[] = ['system', 'light', 'dark']

const key = 'dogwatch.theme'
const listeners = new Set<() => void>()

function stored(): Theme {
  try {
    const value = localStorage.getItem(key)
    return value === 'light' || value === 'dark' ? value : 'system'
  } catch {
    return 'system' // storage may be forbidden
  }
}

let theme: Theme = 'system'

/** Before the first paint. */
export function applyTheme(next: Theme = stored()) {
  theme = next
  if (next === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = next
}

export function setTheme(next: Theme) {
  applyTheme(next)
  try {
    localStorage.setItem(key, next)
  } catch {
    // for this page only, then
  }
  listeners.forEach((l) => l())
}

export const useTheme = () => useSyncExternalStore((l) => (listeners.add(l), () => void listeners.delete(l)), () => theme)
