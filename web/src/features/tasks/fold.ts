import type { Tick } from '@/api/types'

type Folded = Pick<Tick, 'state' | 'reason' | 'origin' | 'topicId'> & { task?: string }

export const timeOf = (tick: Pick<Tick, 'plannedAt' | 'createdAt'>) => tick.plannedAt ?? tick.createdAt

/** Neighbours without a run that ended the same way, together. Runs stand alone. */
export function folded<T extends Folded>(ticks: T[]): T[][] {
  const groups: T[][] = []
  for (const tick of ticks) {
    const last = groups.at(-1)?.[0]
    const same = last && !tick.topicId && !last.topicId && tick.reason !== null && tick.state === last.state && tick.reason === last.reason && tick.origin === last.origin && tick.task === last.task
    if (same) groups.at(-1)!.push(tick)
    else groups.push([tick])
  }
  return groups
}
