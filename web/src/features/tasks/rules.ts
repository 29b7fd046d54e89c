import type { Automation } from '@/api/types'
import { exactUnit, fromLocalInput, localInput, type Unit, unitSeconds } from '@/i18n/format'
import { datesText, parseDates } from '@/i18n/planning.dates'

// The policies of a schedule as a form holds them: text as typed, empty where the
// default counts.

export type Amount = { value: string; unit: Unit }

export type Rules = {
  overlap: string
  missed: string
  catchUp: Amount
  jitter: Amount
  timeout: Amount
  /** heartbeat: what its agent may ask for. */
  min: Amount
  max: Amount
  startsAt: string
  endsAt: string
  maxExecutions: string
  perDay: string
  from: string
  until: string
  days: number[]
  dates: string
  calendars: string[]
}

const blank = (unit: Unit): Amount => ({ value: '', unit })

export const amountOf = (seconds: number | null | undefined, unit: Unit): Amount => {
  if (!seconds) return blank(unit)
  const exact = exactUnit(seconds)
  return { value: String(exact.value), unit: exact.unit }
}

export function secondsOf({ value, unit }: Amount): number | null {
  return /^\d+$/.test(value.trim()) && Number(value) > 0 ? Number(value) * unitSeconds[unit] : null
}

const numberText = (value: number | null | undefined) => (value ? String(value) : '')
const localText = (zone: string, at: string | null | undefined) => (at ? localInput(zone, Date.parse(at)) : '')

/** The policies of a saved automation; of none, all are left to their defaults. */
export function rulesOf(a: Automation | null, zone: string): Rules {
  const c = a?.conditions
  // A heartbeat without room for its agent has its interval as both bounds.
  const bound = (seconds: number | undefined) => (seconds === a?.intervalSeconds ? undefined : seconds)
  return {
    overlap: a?.overlap ?? '',
    missed: a?.missed ?? '',
    // None at all is a choice here, not the default.
    catchUp: a?.catchUpSeconds === 0 ? { value: '0', unit: 'hour' } : amountOf(a?.catchUpSeconds, 'hour'),
    jitter: amountOf(a?.jitterSeconds, 'second'),
    timeout: amountOf(a?.timeoutSeconds, 'minute'),
    min: amountOf(bound(a?.minSeconds), 'minute'),
    max: amountOf(bound(a?.maxSeconds), 'hour'),
    startsAt: localText(zone, a?.startsAt),
    endsAt: localText(zone, a?.endsAt),
    maxExecutions: numberText(a?.maxExecutions),
    perDay: numberText(c?.maxExecutionsPerDay),
    from: c?.activeHours?.start ?? '',
    until: c?.activeHours?.end ?? '',
    days: c?.activeDays ?? [],
    dates: datesText(a?.exclusions ?? {}),
    calendars: a?.exclusions?.calendars ?? [],
  }
}

export type RuleField = keyof Rules
type Saved = Partial<Automation>

/** What the policies come to, or the first field that says nothing sensible. */
export function plannedRules(rules: Rules, zone: string, saved: Automation | null, heartbeat: boolean): { automation: Saved } | { wrong: RuleField } {
  let wrong: RuleField | undefined
  const fail = (field: RuleField) => {
    wrong ??= field
    return undefined
  }
  const amount = (field: 'catchUp' | 'jitter' | 'timeout' | 'min' | 'max') => (rules[field].value.trim() === '' ? undefined : field === 'catchUp' && rules[field].value.trim() === '0' ? 0 : (secondsOf(rules[field]) ?? fail(field)))
  const count = (field: 'maxExecutions' | 'perDay') => (rules[field].trim() === '' ? undefined : /^[1-9]\d*$/.test(rules[field].trim()) ? Number(rules[field]) : fail(field))
  const moment = (field: 'startsAt' | 'endsAt') => {
    if (rules[field] === '') return undefined
    // The field shows minutes: what was not touched keeps its seconds.
    if (rules[field] === localText(zone, saved?.[field])) return saved?.[field]
    const at = fromLocalInput(zone, rules[field])
    return at === null ? fail(field) : new Date(at).toISOString()
  }
  const hours = rules.from === '' && rules.until === '' ? undefined : rules.from === '' ? fail('from') : rules.until === '' ? fail('until') : { start: rules.from, end: rules.until }
  const listed = parseDates(rules.dates)
  const dates = 'wrong' in listed ? fail('dates') : listed

  const conditions = set({ activeHours: hours, activeDays: some(rules.days), maxExecutionsPerDay: count('perDay') })
  const exclusions = set({ dates: some(dates?.dates), ranges: some(dates?.ranges), calendars: some(rules.calendars) })
  const automation = {
    overlap: rules.overlap || undefined,
    missed: rules.missed || undefined,
    catchUpSeconds: amount('catchUp'),
    jitterSeconds: amount('jitter'),
    timeoutSeconds: amount('timeout'),
    ...(heartbeat ? { minSeconds: amount('min'), maxSeconds: amount('max') } : {}),
    startsAt: moment('startsAt'),
    endsAt: moment('endsAt'),
    maxExecutions: count('maxExecutions'),
    conditions,
    exclusions,
  }
  return wrong ? { wrong } : { automation }
}

const some = <T>(items: T[] | undefined) => (items && items.length > 0 ? items : undefined)
const set = <T extends object>(parts: T): T | undefined => (Object.values(parts).some((v) => v !== undefined) ? parts : undefined)

/** The policies that differ from their defaults, to show while they are folded away. */
export const setRules = (rules: Rules): RuleField[] => {
  const still = rulesOf(null, 'UTC')
  return (Object.keys(rules) as RuleField[]).filter((field) => {
    const value = rules[field]
    if (field === 'overlap') return value !== '' && value !== 'skip'
    if (field === 'missed') return value !== '' && value !== 'latest'
    if (typeof value === 'object' && 'value' in value) return value.value !== ''
    return JSON.stringify(value) !== JSON.stringify(still[field])
  })
}
