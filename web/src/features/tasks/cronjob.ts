import type { CronJob, CronJobCreate, CronJobPatch } from '@/api/cronjobs'

/** A cron job as its form holds it: text as typed. */
export type JobDraft = { name: string; work: string; kind: 'prompt' | 'template'; pattern: string; zone: string; max: string; from: string; until: string; days: number[]; perDay: string }
export type JobField = 'work' | 'pattern' | 'max' | 'from' | 'until' | 'perDay'

export const jobDraftOf = (job: CronJob | undefined, zone: string): JobDraft => ({
  name: job?.name ?? '',
  work: job?.prompt ?? job?.template?.instruction ?? '',
  kind: job?.template ? 'template' : 'prompt',
  pattern: job?.pattern ?? '0 7 * * 1-5',
  zone: job?.timezone ?? zone,
  max: job?.maxExecutions ? String(job.maxExecutions) : '',
  from: job?.conditions?.activeHours?.start ?? '',
  until: job?.conditions?.activeHours?.end ?? '',
  days: job?.conditions?.activeDays ?? [],
  perDay: job?.conditions?.maxExecutionsPerDay ? String(job.conditions.maxExecutionsPerDay) : '',
})

const count = (text: string): number | null | undefined => (text.trim() === '' ? null : /^[1-9]\d*$/.test(text.trim()) ? Number(text) : undefined)

type Said = Omit<CronJobCreate, 'agent' | 'maxExecutions' | 'conditions'> & { maxExecutions: number | null; conditions: NonNullable<CronJobCreate['conditions']> | null }

/** What a filled form says, or the first field that says nothing sensible. */
export function saidBy(draft: JobDraft): Said | { wrong: JobField } {
  if (draft.work.trim() === '') return { wrong: 'work' }
  if (draft.pattern.trim() === '') return { wrong: 'pattern' }
  const [max, perDay] = [count(draft.max), count(draft.perDay)]
  if (max === undefined) return { wrong: 'max' }
  if (perDay === undefined) return { wrong: 'perDay' }
  if ((draft.from === '') !== (draft.until === '')) return { wrong: draft.from === '' ? 'from' : 'until' }
  const conditions = {
    ...(draft.from ? { activeHours: { start: draft.from, end: draft.until } } : {}),
    ...(draft.days.length > 0 ? { activeDays: draft.days } : {}),
    ...(perDay ? { maxExecutionsPerDay: perDay } : {}),
  }
  const work = draft.work.trim()
  return {
    ...(draft.name.trim() ? { name: draft.name.trim() } : {}),
    ...(draft.kind === 'prompt' ? { prompt: work } : { template: { instruction: work } }),
    pattern: draft.pattern.trim(),
    timezone: draft.zone.trim() || 'UTC',
    maxExecutions: max,
    conditions: Object.keys(conditions).length > 0 ? conditions : null,
  }
}

/** A new job: what is not set is left out. */
export const createOf = (agent: string, { maxExecutions, conditions, ...said }: Said): CronJobCreate => ({ agent, ...said, ...(maxExecutions ? { maxExecutions } : {}), ...(conditions ? { conditions } : {}) })

/** Only what an edit changed: a field that stays does not plan anew. */
export function patchOf(job: CronJob, said: Said): CronJobPatch {
  const before: Record<string, unknown> = { name: job.name, prompt: job.prompt, template: job.template && { instruction: job.template.instruction }, pattern: job.pattern, timezone: job.timezone, maxExecutions: job.maxExecutions, conditions: job.conditions }
  return Object.fromEntries(Object.entries(said).filter(([field, value]) => JSON.stringify(sorted(value)) !== JSON.stringify(sorted(before[field]))))
}

/** Absent is null here, and the order of keys means nothing. */
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value).filter(([, v]) => v !== undefined).sort(([a], [b]) => a.localeCompare(b)).map(([k, v]) => [k, sorted(v)]) : (value ?? null)
