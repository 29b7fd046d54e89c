import { describe, expect, it } from 'vitest'
import type { CronJob } from '@/api/cronjobs'
import { createOf, type JobDraft, jobDraftOf, patchOf, saidBy } from './cronjob'

const fresh: JobDraft = { ...jobDraftOf(undefined, 'Europe/Berlin'), work: ' Look at the inbox. ' }
const job = { name: 'Inbox', prompt: 'Look at the inbox.', template: null, pattern: '0 7 * * 1-5', timezone: 'Europe/Berlin', maxExecutions: 5, conditions: { activeHours: { start: '08:00', end: '18:00' }, activeDays: [1] } } as CronJob

describe('a new cron job', () => {
  it('says only what was filled in', () => {
    const said = saidBy(fresh)
    expect('wrong' in said ? said : createOf('scout', said)).toEqual({ agent: 'scout', prompt: 'Look at the inbox.', pattern: '0 7 * * 1-5', timezone: 'Europe/Berlin' })
  })
  it('makes tasks from a template', () => expect(saidBy({ ...fresh, kind: 'template' })).toMatchObject({ template: { instruction: 'Look at the inbox.' } }))
  it.each([
    ['work', { work: ' ' }],
    ['pattern', { pattern: '' }],
    ['max', { max: '0' }],
    ['perDay', { perDay: '1.5' }],
    ['until', { from: '08:00' }],
  ] as const)('%s has to be right', (wrong, part) => expect(saidBy({ ...fresh, ...part })).toEqual({ wrong }))
})

describe('an edit of a cron job', () => {
  const edited = (part: Partial<JobDraft>) => {
    const said = saidBy({ ...jobDraftOf(job, 'UTC'), ...part })
    return 'wrong' in said ? said : patchOf(job, said)
  }
  it.each([
    ['nothing', {}, {}],
    ['the pattern', { pattern: '0 8 * * *' }, { pattern: '0 8 * * *' }],
    ['no limit any more', { max: '' }, { maxExecutions: null }],
    ['no conditions any more', { from: '', until: '', days: [] }, { conditions: null }],
    ['the work', { work: 'Look twice.' }, { prompt: 'Look twice.' }],
  ] as [string, Partial<JobDraft>, object][])('%s', (_, part, patch) => expect(edited(part)).toEqual(patch))
})
