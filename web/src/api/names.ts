import { useQuery } from '@tanstack/react-query'
import { agentsQuery, meQuery } from './session'
import type { Actor } from './types'

/** The name of somebody who did something, where it is known here: one's own, and the agents'. */
export function useNameOf(): (actor: Actor) => string | undefined {
  const me = useQuery(meQuery).data
  const agents = useQuery(agentsQuery).data
  return (actor) => {
    if (actor.kind === 'agent') return agents?.find((a) => a.id === actor.id)?.name
    if (actor.kind === 'person' && actor.id === me?.person.id) return me?.person.name
    return undefined
  }
}
