import type { Locale } from '@/i18n'
import { list, month, weekday } from '@/i18n/format'

// A cron pattern in words, for the patterns that people write. The preview shows
// what a pattern does; this only saves reading it, so anything unusual stays a
// pattern rather than becoming a wrong sentence.

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** The values of a field of plain numbers, names, ranges and lists; null for anything else. */
function values(field: string, min: number, max: number, names: string[] = [], nameBase = 0): number[] | null {
  const out = new Set<number>()
  for (const part of field.toLowerCase().split(',')) {
    const match = /^(\w+)(?:-(\w+))?$/.exec(part)
    if (!match) return null
    const [from, to] = [match[1]!, match[2] ?? match[1]!].map((word) => (names.includes(word) ? names.indexOf(word) + nameBase : /^\d+$/.test(word) ? Number(word) : Number.NaN))
    if (from === undefined || to === undefined || !(from >= min && to <= max && from <= to)) return null
    for (let v = from; v <= to; v++) out.add(v)
  }
  return [...out].sort((a, b) => a - b)
}

const two = (value: number) => String(value).padStart(2, '0')
const anyField = (field: string) => field === '*' || field === '?'

function days({ t, lang }: Locale, field: string): string | null {
  if (anyField(field)) return t.schedule.daily
  const raw = values(field, 0, 7, dayNames)
  if (!raw) return null
  const set = [...new Set(raw.map((d) => d % 7))].sort((a, b) => a - b)
  if (set.length === 7) return t.schedule.daily
  if (set.join() === '1,2,3,4,5') return t.schedule.weekdays
  if (set.join() === '0,6') return t.schedule.weekend
  const consecutive = set.length > 2 && set.every((d, i) => i === 0 || d === set[i - 1]! + 1)
  if (consecutive) return t.schedule.dayRange(weekday(lang, set[0]!), weekday(lang, set.at(-1)!))
  // The week starts on Monday in a sentence.
  return t.schedule.onDays(list(lang, [...set].sort((a, b) => ((a + 6) % 7) - ((b + 6) % 7)).map((d) => weekday(lang, d))))
}

export function cronSentence(locale: Locale, pattern: string): string {
  const { t, lang } = locale
  const asIs = t.schedule.pattern(pattern)
  const alias: Record<string, string> = { '@hourly': '0 * * * *', '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@weekly': '0 0 * * 0', '@monthly': '0 0 1 * *' }
  const fields = (alias[pattern.trim()] ?? pattern).trim().split(/\s+/)
  if (fields.length !== 5) return asIs
  const [minute, hour, monthDay, monthField, dayField] = fields as [string, string, string, string, string]

  const everyDay = anyField(monthDay) && anyField(monthField) && anyField(dayField)
  const minuteStep = /^\*\/(\d+)$/.exec(minute)
  if (everyDay && anyField(hour)) {
    if (minute === '*') return t.schedule.minutely
    if (minuteStep && 60 % Number(minuteStep[1]) === 0) return t.schedule.everyMinutes(Number(minuteStep[1]))
  }
  const minutes = values(minute, 0, 59)
  if (!minutes) return asIs
  const hourStep = /^\*\/(\d+)$/.exec(hour)
  if (everyDay && minutes.length === 1) {
    if (anyField(hour)) return t.schedule.hourlyAt(two(minutes[0]!))
    if (hourStep && 24 % Number(hourStep[1]) === 0) return t.schedule.everyHoursAt(Number(hourStep[1]), two(minutes[0]!))
  }

  const hours = values(hour, 0, 23)
  if (!hours || hours.length * minutes.length > 6) return asIs
  const parts = [t.schedule.at(list(lang, hours.flatMap((h) => minutes.map((m) => `${two(h)}:${two(m)}`))))]
  // Both day fields at once mean "either" in cron: no sentence is clearer than the pattern.
  if (!anyField(monthDay) && !anyField(dayField)) return asIs
  if (!anyField(monthDay)) {
    const dates = values(monthDay, 1, 31)
    if (!dates || dates.length > 6) return asIs
    parts.push(t.schedule.monthDay(list(lang, dates.map(String))))
  } else {
    const named = days(locale, dayField)
    if (named === null) return asIs
    parts.push(named)
  }
  if (!anyField(monthField)) {
    const months = values(monthField, 1, 12, monthNames, 1)
    if (!months) return asIs
    if (months.length < 12) parts.push(t.schedule.inMonths(list(lang, months.map((m) => month(lang, m - 1)))))
  }
  return t.schedule.join(parts)
}
