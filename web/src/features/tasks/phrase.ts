// The patterns that have a place in a sentence of words to choose, both ways. What
// does not fit stays a pattern: patternOf(phraseOf(p)) means the same as p, or there
// is no phrase.

export type Phrase =
  | { kind: 'minutes'; step: number }
  | { kind: 'hours'; step: number; minute: number }
  /** Some days of the week, 0 = Sunday; all seven: every day. */
  | { kind: 'days'; days: number[]; hours: number[]; minute: number }
  /** Some days of the month. */
  | { kind: 'dates'; dates: number[]; hours: number[]; minute: number }

export const everyDay = [0, 1, 2, 3, 4, 5, 6]
export const weekdays = [1, 2, 3, 4, 5]
export const weekend = [0, 6]

// Only steps that divide the hour or the day are evenly spaced, and only those are
// what "every n" says.
export const minuteSteps = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30]
export const hourSteps = [1, 2, 3, 4, 6, 8, 12]

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

/** The values of a field of numbers, names, ranges and lists; null for anything else. */
export function values(field: string, min: number, max: number, names: string[] = [], nameBase = 0): number[] | null {
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

/** Days of the week, Sunday as 0 whichever way it was written. */
export function weekdaysOf(field: string): number[] | null {
  const raw = values(field, 0, 7, dayNames)
  return raw && [...new Set(raw.map((d) => d % 7))].sort((a, b) => a - b)
}

const aliases: Record<string, string> = { '@hourly': '0 * * * *', '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@weekly': '0 0 * * 0', '@monthly': '0 0 1 * *', '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *' }

/** The five fields of a pattern; null when there are not five. */
export function fieldsOf(pattern: string): [string, string, string, string, string] | null {
  const fields = (aliases[pattern.trim().toLowerCase()] ?? pattern).trim().split(/\s+/)
  return fields.length === 5 ? (fields as [string, string, string, string, string]) : null
}

const stepOf = (field: string): number | null => {
  if (field === '*') return 1
  const match = /^\*\/(\d+)$/.exec(field)
  return match ? Number(match[1]) : null
}

export function phraseOf(pattern: string): Phrase | null {
  const fields = fieldsOf(pattern)
  if (!fields) return null
  const [minuteField, hourField, date, month, day] = fields
  if (month !== '*') return null
  const anyDay = date === '*' && day === '*'

  const minuteStep = stepOf(minuteField)
  if (minuteStep !== null) return anyDay && hourField === '*' && minuteSteps.includes(minuteStep) ? { kind: 'minutes', step: minuteStep } : null
  const minutes = values(minuteField, 0, 59)
  if (minutes?.length !== 1) return null
  const minute = minutes[0]!
  const hourStep = stepOf(hourField)
  if (hourStep !== null) return anyDay && hourSteps.includes(hourStep) ? { kind: 'hours', step: hourStep, minute } : null

  const hours = values(hourField, 0, 23)
  if (!hours) return null
  if (date === '*') {
    const days = day === '*' ? everyDay : weekdaysOf(day)
    return days && { kind: 'days', days, hours, minute }
  }
  // Both day fields at once mean either of them: no sentence is clearer than the pattern.
  const dates = day === '*' ? values(date, 1, 31) : null
  return dates && { kind: 'dates', dates, hours, minute }
}

/** 1,2,3,5 → 1-3,5: as a person would write it. */
function spell(numbers: number[]): string {
  const runs: number[][] = []
  for (const v of [...new Set(numbers)].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run && run.at(-1) === v - 1) run.push(v)
    else runs.push([v])
  }
  return runs.map((run) => (run.length > 2 ? `${run[0]}-${run.at(-1)}` : run.join())).join()
}

const stepped = (step: number) => (step === 1 ? '*' : `*/${step}`)

export function patternOf(phrase: Phrase): string {
  switch (phrase.kind) {
    case 'minutes':
      return `${stepped(phrase.step)} * * * *`
    case 'hours':
      return `${phrase.minute} ${stepped(phrase.step)} * * *`
    case 'days':
      return `${phrase.minute} ${spell(phrase.hours)} * * ${phrase.days.length === 7 ? '*' : spell(phrase.days)}`
    case 'dates':
      return `${phrase.minute} ${spell(phrase.hours)} ${spell(phrase.dates)} * *`
  }
}

export type Note = 'either' | 'elapsed' | 'wall'

/** What a reader of a pattern may not expect of it. */
export function patternNotes(pattern: string): Note[] {
  const fields = fieldsOf(pattern)
  if (!fields) return []
  const [minute, hour, date, , day] = fields
  const free = (field: string) => field.split(',').some((part) => part === '*' || part === '*/1')
  const notes: Note[] = []
  if (!free(date) && !free(day)) notes.push('either')
  // Its spelling decides whether a schedule follows the clock on the wall or the time that passes.
  if (minute.startsWith('*') || hour.startsWith('*')) notes.push('elapsed')
  else if (values(hour, 0, 23)?.length === 24) notes.push('wall')
  return notes
}
