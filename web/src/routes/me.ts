import { createContext, useContext } from 'react'
import type { Me } from '@/api/types'

export const MeContext = createContext<Me | null>(null)

/** Who is signed in. Only inside the shell, which shows no page to anybody else. */
export function useMe(): Me {
  const me = useContext(MeContext)
  if (!me) throw new Error('useMe outside the shell')
  return me
}

export const mayOperate = (me: Me) => me.role !== 'viewer'
