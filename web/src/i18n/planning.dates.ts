// Dates and ranges as people list them: 2026-12-25, 2026-12-31..2027-01-02, by lines
// or commas. Pure.

type Range = { from: string; to: string }
export type Dates = { dates: string[]; ranges: Range[] }

/** A date that a calendar has: 2026-02-30 is none. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

/** What a text lists; `wrong` is the first part that is no date. */
export function parseDates(text: string): Dates | { wrong: string } {
  const dates: string[] = []
  const ranges: Range[] = []
  for (const part of text.split(/[\n,;，、；]+/).map((p) => p.trim()).filter(Boolean)) {
    const [from, to, more] = part.split(/\s*(?:\.\.|–|—|~|至| to )\s*/)
    if (more !== undefined || !from || !isDate(from) || (to !== undefined && (!isDate(to) || to < from))) return { wrong: part }
    if (to === undefined || to === from) dates.push(from)
    else ranges.push({ from, to })
  }
  return { dates: [...new Set(dates)].sort(), ranges }
}

/** The same as text, one a line, in their order. */
export function datesText({ dates, ranges }: { dates?: string[] | null; ranges?: Range[] | null }): string {
  return [...(dates ?? []), ...(ranges ?? []).map((r) => `${r.from}..${r.to}`)].sort().join('\n')
}
