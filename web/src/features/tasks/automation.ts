import type { Automation, Task } from '@/api/types'
import type { Locale } from '@/i18n'
import { duration, exactUnit, fromLocalInput, localInput, moment, type Unit, unitSeconds } from '@/i18n/format'
import { cronSentence } from './cron'

/** How a task starts, as a sentence. */
export function startSentence(locale: Locale, task: { automation?: Automation | null; startAt?: string | null }, now: number): string {
  const { t, lang, zone } = locale
  const a = task.automation
  if (!a) return task.startAt && Date.parse(task.startAt) > now ? t.schedule.once(moment(lang, zone, Date.parse(task.startAt), now)) : t.schedule.none
  switch (a.mode) {
    case 'heartbeat':
      if (a.minSeconds && a.maxSeconds && a.minSeconds !== a.maxSeconds) return t.schedule.between(duration(lang, a.minSeconds), duration(lang, a.maxSeconds))
      return t.schedule.heartbeat(duration(lang, a.intervalSeconds ?? 0))
    case 'every':
      return t.schedule.every(duration(lang, a.everySeconds ?? 0))
    case 'schedule':
      return t.schedule.inZone(cronSentence(locale, a.pattern ?? ''), a.timezone ?? 'UTC')
    default:
      return a.mode // of a newer server
  }
}

/** The zone that a task's times were planned in, if it has one of its own. */
export const zoneOf = (task: Pick<Task, 'automation'>): string | undefined => task.automation?.timezone || undefined

export type Mode = 'none' | 'once' | 'heartbeat' | 'every' | 'schedule'
const repeated = ['heartbeat', 'every', 'schedule'] as const
export type Amount = { value: string; unit: Unit }

/** What the form holds while it is filled in: text as typed, not yet a valid automation. */
export type Draft = {
  mode: Mode
  interval: Amount
  every: Amount
  anchor: string
  pattern: string
  zone: string
  onceAt: string
  overlap: string
  missed: string
  /** The saved automation under edit: what the form does not show is kept. */
  saved: Automation | null
}

const amount = (seconds: number): Amount => {
  const { value, unit } = exactUnit(seconds)
  return { value: String(value), unit }
}

const hourMs = 3_600_000

export function draftOf(task: { automation?: Automation | null; startAt?: string | null } | undefined, zone: string, now: number): Draft {
  const a = task?.automation ?? null
  const startAt = task?.startAt ? Date.parse(task.startAt) : undefined
  return {
    mode: repeated.find((m) => m === a?.mode) ?? (startAt && startAt > now ? 'once' : 'none'),
    interval: amount(a?.intervalSeconds ?? 3600),
    every: amount(a?.everySeconds ?? 3600),
    anchor: a?.anchor ? localInput(zone, Date.parse(a.anchor)) : '',
    pattern: a?.pattern ?? '0 7 * * 1-5',
    zone: a?.timezone ?? zone,
    onceAt: localInput(zone, startAt ?? Math.ceil(now / hourMs) * hourMs),
    overlap: a?.overlap ?? '',
    missed: a?.missed ?? '',
    saved: a,
  }
}

const secondsOf = ({ value, unit }: Amount): number | null => (/^\d+$/.test(value.trim()) && Number(value) > 0 ? Number(value) * unitSeconds[unit] : null)

export type DraftError = 'badInterval' | 'badMoment' | 'noPattern'
export type Planned = { automation: Automation | null; startAt: string | null } | { error: DraftError }

/** The automation that a draft means, or what is still wrong with it. */
export function plannedBy(draft: Draft, viewerZone: string, now: number): Planned {
  const policies = { overlap: draft.overlap || undefined, missed: draft.missed || undefined }
  const of = (a: Automation): Planned => {
    // Settings that have no field here survive an edit within the same mode.
    const { nextFires: _, intervalSeconds: _i, minSeconds: _m, maxSeconds: _x, ...kept } = draft.saved?.mode === a.mode ? draft.saved : ({} as Automation)
    return { automation: { ...kept, ...a, ...policies }, startAt: null }
  }
  switch (draft.mode) {
    case 'none':
      return { automation: null, startAt: null }
    case 'once': {
      const at = fromLocalInput(viewerZone, draft.onceAt)
      if (at === null || at <= now) return { error: 'badMoment' }
      return { automation: null, startAt: new Date(at).toISOString() }
    }
    case 'heartbeat': {
      const seconds = secondsOf(draft.interval)
      if (seconds === null) return { error: 'badInterval' }
      const { saved } = draft
      // An interval that was not touched keeps the bounds saved with it.
      const bounds = saved?.mode === 'heartbeat' && saved.intervalSeconds === seconds ? { minSeconds: saved.minSeconds, maxSeconds: saved.maxSeconds } : {}
      return of({ mode: 'heartbeat', intervalSeconds: seconds, ...bounds })
    }
    case 'every': {
      const seconds = secondsOf(draft.every)
      if (seconds === null) return { error: 'badInterval' }
      const anchor = draft.anchor === '' ? null : fromLocalInput(viewerZone, draft.anchor)
      return of({ mode: 'every', everySeconds: seconds, anchor: anchor === null ? draft.saved?.anchor : new Date(anchor).toISOString() })
    }
    case 'schedule':
      if (draft.pattern.trim() === '') return { error: 'noPattern' }
      return of({ mode: 'schedule', pattern: draft.pattern.trim(), timezone: draft.zone.trim() || 'UTC' })
  }
}
