import type { Automation, Task } from '@/api/types'
import type { Locale } from '@/i18n'
import { duration, fromLocalInput, localInput, moment } from '@/i18n/format'
import { cronSentence } from './cron'
import { type Amount, amountOf, plannedRules, type RuleField, type Rules, rulesOf, secondsOf } from './rules'

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

/** What the form holds while it is filled in: text as typed, not yet a valid automation. */
export type Draft = {
  mode: Mode
  interval: Amount
  every: Amount
  anchor: string
  pattern: string
  zone: string
  onceAt: string
  rules: Rules
  /** The saved automation under edit: what the form does not show is kept. */
  saved: Automation | null
}

const hourMs = 3_600_000

export function draftOf(task: { automation?: Automation | null; startAt?: string | null } | undefined, zone: string, now: number): Draft {
  const a = task?.automation ?? null
  const startAt = task?.startAt ? Date.parse(task.startAt) : undefined
  return {
    mode: repeated.find((m) => m === a?.mode) ?? (startAt && startAt > now ? 'once' : 'none'),
    interval: amountOf(a?.intervalSeconds ?? 3600, 'hour'),
    every: amountOf(a?.everySeconds ?? 3600, 'hour'),
    anchor: a?.anchor ? localInput(zone, Date.parse(a.anchor)) : '',
    pattern: a?.pattern ?? '0 7 * * 1-5',
    zone: a?.timezone ?? zone,
    onceAt: localInput(zone, startAt ?? Math.ceil(now / hourMs) * hourMs),
    rules: rulesOf(a, zone),
    saved: a,
  }
}

export type DraftError = 'badInterval' | 'badMoment' | 'noPattern' | 'badRule'
export type Planned = { automation: Automation | null; startAt: string | null } | { error: DraftError; rule?: RuleField }

/** The automation that a draft means, or what is still wrong with it. */
export function plannedBy(draft: Draft, viewerZone: string, now: number): Planned {
  const of = (a: Automation): Planned => {
    const rules = plannedRules(draft.rules, viewerZone, draft.saved, a.mode === 'heartbeat')
    if ('wrong' in rules) return { error: 'badRule', rule: rules.wrong }
    // The zone in which days and hours are judged has no field of its own in every mode.
    const timezone = draft.saved?.mode === a.mode ? draft.saved.timezone : undefined
    return { automation: { timezone, ...a, ...rules.automation }, startAt: null }
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
      return of({ mode: 'heartbeat', intervalSeconds: seconds })
    }
    case 'every': {
      const seconds = secondsOf(draft.every)
      if (seconds === null) return { error: 'badInterval' }
      // The field shows minutes: an anchor that was not touched keeps its seconds.
      const untouched = draft.saved?.anchor && draft.anchor === localInput(viewerZone, Date.parse(draft.saved.anchor))
      const anchor = draft.anchor === '' || untouched ? null : fromLocalInput(viewerZone, draft.anchor)
      return of({ mode: 'every', everySeconds: seconds, anchor: anchor === null ? draft.saved?.anchor : new Date(anchor).toISOString() })
    }
    case 'schedule':
      if (draft.pattern.trim() === '') return { error: 'noPattern' }
      return of({ mode: 'schedule', pattern: draft.pattern.trim(), timezone: draft.zone.trim() || 'UTC' })
  }
}

const day = 86_400

/** Whether the distance between a schedule's fires is only a mean: weekdays are 33.6 hours apart on average, which none of them is. A mean that divides a day, or is made of days, reads as it is. */
export function isUneven(mode: string | undefined, meanSeconds: number | null | undefined): boolean {
  return mode === 'schedule' && meanSeconds != null && meanSeconds > 0 && day % meanSeconds !== 0 && meanSeconds % day !== 0
}
