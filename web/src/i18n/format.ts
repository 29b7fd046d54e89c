// Numbers, money and moments as people read them. Pure: the language, the zone and
// the current time come in as arguments.

const cache = new Map<string, unknown>()
function cached<T>(key: string, make: () => T): T {
  if (!cache.has(key)) cache.set(key, make())
  return cache.get(key) as T
}

export function number(lang: string, value: number, options: Intl.NumberFormatOptions = {}): string {
  return cached(`n${lang}${JSON.stringify(options)}`, () => new Intl.NumberFormat(lang, options)).format(value)
}

/** 1,234 stays exact up to ten thousand; above it is rounded: 12.3K. */
export function count(lang: string, value: number): string {
  return value < 10_000 ? number(lang, value) : number(lang, value, { notation: 'compact', maximumFractionDigits: 1 })
}

/**
 * Dollars with two significant digits below a cent's reach, so that a run for
 * $0.0042 does not read as free. Unknown is a dash, never 0.
 */
export function money(lang: string, usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return '–'
  const digits = usd === 0 || Math.abs(usd) >= 0.1 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 }
  return number(lang, usd, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol', ...digits })
}

export function bytes(lang: string, size: number): string {
  if (size < 1000) return number(lang, size, { style: 'unit', unit: 'byte', unitDisplay: 'narrow' })
  const kilo = size < 999_950
  return number(lang, size / (kilo ? 1e3 : 1e6), { style: 'unit', unit: kilo ? 'kilobyte' : 'megabyte', unitDisplay: 'short', maximumFractionDigits: 1 })
}

export type Unit = 'second' | 'minute' | 'hour' | 'day'
export const unitSeconds: Record<Unit, number> = { second: 1, minute: 60, hour: 3600, day: 86_400 }
const unitsDown: Unit[] = ['day', 'hour', 'minute', 'second']

function unit(lang: string, value: number, of: Unit, display: 'long' | 'narrow'): string {
  return number(lang, value, { style: 'unit', unit: of, unitDisplay: display })
}

/** The largest unit that says it exactly: 5400 → 90 minutes. */
export function exactUnit(seconds: number): { value: number; unit: Unit } {
  const of = unitsDown.find((u) => seconds >= unitSeconds[u] && seconds % unitSeconds[u] === 0) ?? 'second'
  return { value: seconds / unitSeconds[of], unit: of }
}

/** A length of time in its two largest units: "1 hour 30 minutes", narrow "1h 30m". */
export function duration(lang: string, seconds: number, display: 'long' | 'narrow' = 'long'): string {
  let rest = Math.max(0, Math.round(seconds))
  const parts: string[] = []
  for (const of of unitsDown) {
    const value = Math.floor(rest / unitSeconds[of])
    rest -= value * unitSeconds[of]
    if (value > 0) parts.push(unit(lang, value, of, display))
    else if (parts.length > 0) break // 1 day and 5 seconds is 1 day
    if (parts.length === 2) break
  }
  return parts.join(' ') || unit(lang, 0, 'second', display)
}

/** "in 5 minutes", "2 days ago"; past a week the date says more. */
export function relative(lang: string, at: number, now: number): string | null {
  const seconds = Math.round((at - now) / 1000)
  const size = Math.abs(seconds)
  if (size > 7 * 86_400) return null
  const format = cached(`r${lang}`, () => new Intl.RelativeTimeFormat(lang, { numeric: 'auto', style: 'long' }))
  if (size < 60) return format.format(seconds, 'second')
  if (size < 3600) return format.format(Math.trunc(seconds / 60), 'minute')
  if (size < 86_400) return format.format(Math.trunc(seconds / 3600), 'hour')
  return format.format(Math.trunc(seconds / 86_400), 'day')
}

function dateFormat(lang: string, zone: string, options: Intl.DateTimeFormatOptions) {
  return cached(`d${lang}${zone}${JSON.stringify(options)}`, () => {
    try {
      return new Intl.DateTimeFormat(lang, { timeZone: zone, ...options })
    } catch {
      return new Intl.DateTimeFormat(lang, { timeZone: 'UTC', ...options }) // a zone that this browser does not know
    }
  })
}

const sameDay = (a: number, b: number, zone: string) => {
  const day = dateFormat('en-CA', zone, { year: 'numeric', month: '2-digit', day: '2-digit' })
  return day.format(a) === day.format(b)
}

/** A moment as short as it can be: today its time, this week weekday and time, else the date too. */
export function moment(lang: string, zone: string, at: number, now: number, seconds = false): string {
  const time: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...(seconds ? { second: '2-digit' } : {}) }
  if (sameDay(at, now, zone)) return dateFormat(lang, zone, time).format(at)
  if (Math.abs(at - now) < 6 * 86_400_000) return dateFormat(lang, zone, { weekday: 'short', ...time }).format(at)
  const sameYear = new Date(at).getUTCFullYear() === new Date(now).getUTCFullYear()
  return dateFormat(lang, zone, { month: 'short', day: 'numeric', ...(sameYear ? {} : { year: 'numeric' }), ...time }).format(at)
}

/** A moment in full, for titles: nothing left to guess. */
export function full(lang: string, zone: string, at: number): string {
  return dateFormat(lang, zone, {
    weekday: 'short', year: 'numeric', month: 'short', day: 'numeric',
    hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', timeZoneName: 'short',
  }).format(at)
}

export function longDate(lang: string, zone: string, at: number): string {
  return dateFormat(lang, zone, { weekday: 'long', month: 'long', day: 'numeric' }).format(at)
}

/** Whether two zones show the same clock at a moment. */
export function sameClock(a: string, b: string, at: number): boolean {
  const clock = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  return a === b || dateFormat('en-CA', a, clock).format(at) === dateFormat('en-CA', b, clock).format(at)
}

/** 2026-03-29T07:00 in a zone, as <input type="datetime-local"> wants it. */
export function localInput(zone: string, at: number): string {
  const p = Object.fromEntries(
    dateFormat('en-CA', zone, { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
      .formatToParts(at)
      .map((part) => [part.type, part.value]),
  )
  return `${p.year}-${p.month}-${p.day}T${p.hour}:${p.minute}`
}

/**
 * The moment that a wall clock in a zone means. A time that the clock skips (the
 * gap in spring) is taken as the same number of minutes later; one that comes
 * twice, the first.
 */
export function fromLocalInput(zone: string, local: string): number | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(local)) return null
  const wall = Date.parse(`${local}:00Z`)
  if (Number.isNaN(wall)) return null
  const offset = (at: number) => Date.parse(`${localInput(zone, at)}:00Z`) - at
  const day = 86_400_000
  const before = offset(wall - day)
  const after = offset(wall + day)
  for (const o of [before, after]) if (localInput(zone, wall - o) === local) return wall - o
  return wall - before
}

export const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

export const zones = (): string[] => {
  const known = (Intl as { supportedValuesOf?: (key: string) => string[] }).supportedValuesOf?.('timeZone') ?? []
  return known.includes('UTC') ? known : ['UTC', ...known]
}

/** The date of a moment in a zone, 2026-03-29. */
export const dayOf = (zone: string, at: number): string => localInput(zone, at).slice(0, 10)

/** The hour of the day in a zone, for a greeting. */
export function hourIn(zone: string, at: number): number {
  return Number(localInput(zone, at).slice(11, 13))
}

/** A date without a time: 25 Dec 2026. */
export const shortDate = (lang: string, date: string): string => dateFormat(lang, 'UTC', { year: 'numeric', month: 'short', day: 'numeric' }).format(Date.parse(`${date}T00:00:00Z`))

/** Names of weekdays by number, 0 = Sunday. */
export function weekday(lang: string, day: number, style: 'long' | 'short' = 'long'): string {
  return dateFormat(lang, 'UTC', { weekday: style }).format(Date.UTC(2023, 0, 1 + (day % 7))) // 1 January 2023 was a Sunday
}

export function month(lang: string, index: number): string {
  return dateFormat(lang, 'UTC', { month: 'long' }).format(Date.UTC(2023, index, 1))
}

export function list(lang: string, items: string[]): string {
  return cached(`l${lang}`, () => new Intl.ListFormat(lang, { type: 'conjunction' })).format(items)
}
