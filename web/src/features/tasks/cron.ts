import type { Locale } from '@/i18n'
import { list, month, weekday } from '@/i18n/format'
import { fieldsOf, values, weekdaysOf } from './phrase'

// A cron pattern in words, for the patterns that people write. The preview shows
// what a pattern does; this only saves reading it, so anything unusual stays a
// pattern rather than becoming a wrong sentence.

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

const two = (value: number) => String(value).padStart(2, '0')
const anyField = (field: string) => field === '*' || field === '?'

function days({ t, lang }: Locale, field: string): string | null {
  if (anyField(field)) return t.schedule.daily
  const set = weekdaysOf(field)
  if (!set) return null
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
  const fields = fieldsOf(pattern)
  if (!fields) return asIs
  const [minute, hour, monthDay, monthField, dayField] = fields

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
  const times = t.schedule.at(list(lang, hours.flatMap((h) => minutes.map((m) => `${two(h)}:${two(m)}`))))
  // Both day fields at once mean "either" in cron: no sentence is clearer than the pattern.
  if (!anyField(monthDay) && !anyField(dayField)) return asIs
  let on: string
  if (!anyField(monthDay)) {
    const dates = values(monthDay, 1, 31)
    if (!dates || dates.length > 6) return asIs
    on = t.schedule.monthDay(list(lang, dates.map(String)))
  } else {
    const named = days(locale, dayField)
    if (named === null) return asIs
    on = named
  }
  let within: string | undefined
  if (!anyField(monthField)) {
    const months = values(monthField, 1, 12, monthNames, 1)
    if (!months) return asIs
    if (months.length < 12) within = t.schedule.inMonths(list(lang, months.map((m) => month(lang, m - 1))))
  }
  return t.schedule.join(on, times, within)
}
