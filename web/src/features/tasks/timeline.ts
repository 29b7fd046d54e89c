import type { Task, Tick } from '@/api/types'
import { dayOf } from '@/i18n/format'
import { folded, timeOf } from './fold'

// The time line across tasks: what is planned, then what came of what was. Pure: the
// zone and the current time come in as arguments.

/** A time that is still to come. `last`: the server names no later one of this task. */
export type Planned = { kind: 'planned'; at: string; task: Task; last: boolean }
/** One tick, or neighbours of one task that ended the same way without a run. */
export type Past = { kind: 'past'; at: string; ticks: Tick[] }
export type Entry = Planned | Past
export type Day = { day: string; at: string; entries: Entry[] }

/** The coming times of all tasks, the soonest first. */
export function upcoming(tasks: Task[], now: number): Planned[] {
  return tasks
    .flatMap((task): Planned[] => {
      // With jitter the next run is later than its planned time; the fires after it are planned ones.
      const next = task.nextRunAt
      if (!next) return []
      // A heartbeat's times after the next depend on how long its runs take.
      const known = task.automation?.mode === 'heartbeat' ? [] : (task.automation?.nextFires ?? [])
      const after = known.filter((at) => Date.parse(at) > Date.parse(task.nextPlannedAt ?? next))
      const times = [next, ...after]
      return times.map((at, i) => ({ kind: 'planned', at, task, last: i === times.length - 1 && !!task.automation }))
    })
    .filter((entry) => Date.parse(entry.at) > now - dueMs)
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

// A time that is due stays in its place until its tick is written.
const dueMs = 60_000

/** Past and future by days of a zone, the newest first. */
export function byDay(planned: Planned[], ticks: Tick[], zone: string): Day[] {
  const days = new Map<string, { entries: Planned[]; ticks: Tick[] }>()
  const of = (at: string) => {
    const day = dayOf(zone, Date.parse(at))
    if (!days.has(day)) days.set(day, { entries: [], ticks: [] })
    return days.get(day)!
  }
  for (const entry of planned) of(entry.at).entries.push(entry)
  for (const tick of ticks) of(timeOf(tick)).ticks.push(tick)
  return [...days]
    .sort(([a], [b]) => b.localeCompare(a))
    .map(([day, { entries, ticks }]) => {
      const past = folded(newestFirst(ticks, timeOf)).map((group): Past => ({ kind: 'past', at: timeOf(group[0]!), ticks: group }))
      const all = newestFirst<Entry>([...entries, ...past], (entry) => entry.at)
      return { day, at: all[0]!.at, entries: all }
    })
}

const newestFirst = <T>(items: T[], at: (item: T) => string) => [...items].sort((a, b) => Date.parse(at(b)) - Date.parse(at(a)))

/** What holds every coming run of a task at present, as the gate would say it. */
export function heldBy(task: Pick<Task, 'assigneeAgent'>, workspace: { pausedAt?: string | null; maintenanceAt?: string | null } | undefined, pausedAgents: Set<string>): string | undefined {
  if (workspace?.pausedAt) return 'workspace_paused'
  if (workspace?.maintenanceAt) return 'maintenance'
  return task.assigneeAgent && pausedAgents.has(task.assigneeAgent) ? 'agent_paused' : undefined
}

// The reasons that a tick may carry, in the order of the gate.
export const tickReasons = [
  'paused', 'workspace_paused', 'maintenance', 'agent_paused', 'no_agent', 'outside_bounds', 'max_executions', 'max_topics', 'excluded_date', 'outside_active_hours',
  'daily_limit', 'blocked_by_dependency', 'in_flight', 'waiting_for_human', 'budget', 'concurrency', 'catch_up_expired', 'coalesced', 'policy_skip', 'canceled_by_edit', 'canceled_by_person',
] as const
