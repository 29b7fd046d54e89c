import { describe, expect, it } from 'vitest'
import type { Automation } from '@/api/types'
import type { Locale } from '@/i18n'
import { en } from '@/i18n/en'
import { datesText, parseDates } from '@/i18n/planning.dates'
import { zhCN } from '@/i18n/zh-CN'
import { type Draft, draftOf, isUneven, plannedBy, startSentence } from './automation'
import { cronSentence } from './cron'
import { folded } from './fold'
import { plannedRules, rulesOf, setRules } from './rules'

const english: Locale = { lang: 'en', zone: 'Europe/Berlin', t: en }
const chinese: Locale = { lang: 'zh-CN', zone: 'Asia/Shanghai', t: zhCN }
const now = Date.parse('2026-03-04T20:00:00Z')

describe('a pattern in words', () => {
  it.each([
    ['* * * * *', 'Every minute'],
    ['*/15 * * * *', 'Every 15 minutes'],
    ['0 * * * *', 'Every hour at :00'],
    ['30 */6 * * *', 'Every 6 hours at :30'],
    ['0 7 * * 1-5', 'Every weekday at 07:00'],
    ['0 7 * * MON-FRI', 'Every weekday at 07:00'],
    ['0 8 * * *', 'Every day at 08:00'],
    ['0 8 * * 0,6', 'On weekends at 08:00'],
    ['0 8 * * 6,7', 'On weekends at 08:00'],
    ['0 9 * * 1,3', 'Every Monday and Wednesday at 09:00'],
    ['0 9,17 * * *', 'Every day at 09:00 and 17:00'],
    ['0 6 1 * *', 'On day 1 of the month at 06:00'],
    ['0 6 1 jan,jul *', 'On day 1 of the month at 06:00, in January and July'],
    ['@daily', 'Every day at 00:00'],
  ])('%s: %s', (pattern, text) => expect(cronSentence(english, pattern)).toBe(text))

  // A wrong sentence is worse than none.
  it.each(['7 7 13 * 5', '*/7 * * * *', '0 7 * * 1#2', '0 7 L * *', '5-10/2 3 * * *', '61 7 * * *', 'soon', '', '0 22-2 * * *', '0 0 0 * *'])('%s stays a pattern', (pattern) => {
    expect(cronSentence(english, pattern)).toBe(`Pattern ${pattern}`)
  })

  it('speaks Chinese', () => expect(cronSentence(chinese, '0 7 * * 1-5')).toBe('周一至周五 07:00'))
})

describe('how a task starts', () => {
  it.each([
    [{ automation: null, startAt: null }, 'By hand'],
    [{ automation: null, startAt: '2026-03-05T06:00:00Z' }, 'Once, Thu 07:00'],
    [{ automation: null, startAt: '2026-03-01T06:00:00Z' }, 'By hand'],
    [{ automation: { mode: 'heartbeat', intervalSeconds: 600 }, startAt: null }, '10 minutes after each run'],
    [{ automation: { mode: 'heartbeat', intervalSeconds: 600, minSeconds: 60, maxSeconds: 3600 }, startAt: null }, '1 minute to 1 hour after each run'],
    [{ automation: { mode: 'every', everySeconds: 5400 }, startAt: null }, 'Every 1 hour 30 minutes'],
    [{ automation: { mode: 'schedule', pattern: '0 7 * * 1-5', timezone: 'Europe/Berlin' }, startAt: null }, 'Every weekday at 07:00 in Berlin'],
  ] as const)('%j: %s', (task, text) => expect(startSentence(english, task, now)).toBe(text))
})

describe('what a filled form means', () => {
  const draft = (part: Partial<Draft>): Draft => ({ ...draftOf(undefined, 'Europe/Berlin', now), ...part })
  it.each([
    ['by hand', { mode: 'none' }, { automation: null, startAt: null }],
    ['a heartbeat', { mode: 'heartbeat', interval: { value: '10', unit: 'minute' } }, { automation: { mode: 'heartbeat', intervalSeconds: 600 }, startAt: null }],
    ['a fixed rhythm', { mode: 'every', every: { value: '2', unit: 'hour' }, anchor: '2026-03-05T07:00' }, { automation: { mode: 'every', everySeconds: 7200, anchor: '2026-03-05T06:00:00.000Z' }, startAt: null }],
    ['a calendar', { mode: 'schedule', pattern: ' 0 7 * * 1-5 ', zone: 'Asia/Tokyo' }, { automation: { mode: 'schedule', pattern: '0 7 * * 1-5', timezone: 'Asia/Tokyo' }, startAt: null }],
    ['once, on the viewer’s clock', { mode: 'once', onceAt: '2026-03-05T07:00' }, { automation: null, startAt: '2026-03-05T06:00:00.000Z' }],
    ['policies', { mode: 'heartbeat', interval: { value: '1', unit: 'day' }, rules: { ...rulesOf(null, 'UTC'), overlap: 'queue', missed: 'all' } }, { automation: { mode: 'heartbeat', intervalSeconds: 86_400, overlap: 'queue', missed: 'all' }, startAt: null }],
    ['no number', { mode: 'heartbeat', interval: { value: '1.5', unit: 'hour' } }, { error: 'badInterval' }],
    ['zero', { mode: 'every', every: { value: '0', unit: 'hour' } }, { error: 'badInterval' }],
    ['the past', { mode: 'once', onceAt: '2026-03-01T07:00' }, { error: 'badMoment' }],
    ['no pattern', { mode: 'schedule', pattern: ' ' }, { error: 'noPattern' }],
  ] as [string, Partial<Draft>, object][])('%s', (_, part, planned) => expect(JSON.parse(JSON.stringify(plannedBy(draft(part), 'Europe/Berlin', now)))).toEqual(planned))

  it('a saved automation comes back as it was, with what the form does not show', () => {
    for (const automation of [
      { mode: 'heartbeat', intervalSeconds: 600, minSeconds: 60, maxSeconds: 3600, jitterSeconds: 5 },
      { mode: 'schedule', pattern: '0 7 * * *', timezone: 'Asia/Tokyo', conditions: { maxExecutionsPerDay: 3 }, overlap: 'skip' },
      { mode: 'every', everySeconds: 90, anchor: '2026-01-01T00:00:00.000Z', maxExecutions: 7 },
    ] as const) {
      const open = draftOf({ automation: { ...automation, nextFires: ['2026-03-05T00:00:00Z'] } }, 'Europe/Berlin', now)
      expect(JSON.parse(JSON.stringify(plannedBy(open, 'Europe/Berlin', now)))).toEqual({ automation, startAt: null })
    }
  })

  it('another mode keeps the policies, which are in sight, and nothing else', () => {
    const open = draftOf({ automation: { mode: 'heartbeat', intervalSeconds: 600, minSeconds: 60, jitterSeconds: 5 } }, 'UTC', now)
    expect(JSON.parse(JSON.stringify(plannedBy({ ...open, mode: 'schedule', pattern: '0 7 * * *', zone: 'UTC' }, 'UTC', now)))).toEqual({ automation: { mode: 'schedule', pattern: '0 7 * * *', timezone: 'UTC', jitterSeconds: 5 }, startAt: null })
  })
})

describe('policies', () => {
  const everything: Automation = {
    mode: 'heartbeat', intervalSeconds: 600, minSeconds: 60, maxSeconds: 3600, overlap: 'queue', missed: 'all', catchUpSeconds: 0, jitterSeconds: 90, timeoutSeconds: 300,
    startsAt: '2026-03-29T00:30:20Z', endsAt: '2026-10-25T00:30:00Z', maxExecutions: 7, conditions: { activeHours: { start: '22:00', end: '06:00' }, activeDays: [0, 6], maxExecutionsPerDay: 3 },
    exclusions: { dates: ['2026-12-25'], ranges: [{ from: '2026-12-31', to: '2027-01-02' }], calendars: ['holidays'] },
  }
  it('come back as they were saved, every one, to the second', () => {
    const { mode: _, intervalSeconds: _i, ...policies } = everything
    expect(plannedRules(rulesOf(everything, 'Europe/Berlin'), 'Europe/Berlin', everything, true)).toEqual({ automation: policies })
  })
  it('that are not set are left to the server', () => {
    expect(JSON.parse(JSON.stringify(plannedRules(rulesOf(null, 'UTC'), 'UTC', null, true)))).toEqual({ automation: {} })
    expect(setRules(rulesOf(null, 'UTC'))).toEqual([])
  })
  it('are named when they differ from the defaults', () => {
    expect(setRules(rulesOf({ mode: 'every', everySeconds: 60, overlap: 'skip', missed: 'latest' }, 'UTC'))).toEqual([])
    expect(setRules(rulesOf({ mode: 'every', everySeconds: 60, overlap: 'queue', jitterSeconds: 5, conditions: { activeDays: [1] } }, 'UTC'))).toEqual(['overlap', 'jitter', 'days'])
  })
  it.each([
    ['jitter', { jitter: { value: 'x', unit: 'second' } }],
    ['perDay', { perDay: '0' }],
    ['until', { from: '08:00' }],
    ['from', { until: '08:00' }],
    ['dates', { dates: '2026-02-30' }],
    ['startsAt', { startsAt: 'soon' }],
  ] as [string, object][])('%s says what is wrong', (field, part) => expect(plannedRules({ ...rulesOf(null, 'UTC'), ...part }, 'UTC', null, false)).toEqual({ wrong: field }))
})

describe('dates as text', () => {
  it.each([
    ['2026-12-26\n2026-12-25', { dates: ['2026-12-25', '2026-12-26'], ranges: [] }],
    ['2026-12-25, 2026-12-31..2027-01-02', { dates: ['2026-12-25'], ranges: [{ from: '2026-12-31', to: '2027-01-02' }] }],
    ['2026-12-25，2026-12-25', { dates: ['2026-12-25'], ranges: [] }],
    ['', { dates: [], ranges: [] }],
    ['2027-01-02..2026-12-31', { wrong: '2027-01-02..2026-12-31' }],
    ['25.12.2026', { wrong: '25.12.2026' }],
  ] as const)('%j', (text, listed) => expect(parseDates(text)).toEqual(listed))
  it('come back as they were', () => {
    const listed = { dates: ['2026-12-25'], ranges: [{ from: '2026-12-31', to: '2027-01-02' }] }
    expect(parseDates(datesText(listed))).toEqual(listed)
  })
})

describe('the ledger', () => {
  const tick = (state: 'ran' | 'skipped' | 'missed', reason: string | null, topicId: string | null = null) => ({ state, reason, topicId, origin: 'heartbeat' as const })
  it('tells once what happened again and again', () => {
    const waits = tick('skipped', 'waiting_for_human')
    const ran = tick('ran', null, 'x')
    expect(folded([waits, waits, ran, ran, waits, tick('skipped', 'budget'), tick('missed', 'budget')]).map((g) => g.length)).toEqual([2, 1, 1, 1, 1, 1])
  })
})

describe('a cadence', () => {
  it.each([
    ['weekdays', 'schedule', 120_960, true],
    ['every day', 'schedule', 86_400, false],
    ['every Monday', 'schedule', 7 * 86_400, false],
    ['every half hour', 'schedule', 1800, false],
    ['a grid is even whatever its period', 'every', 5000, false],
    ['a heartbeat', 'heartbeat', 700, false],
  ])('of %s', (_, mode, mean, uneven) => expect(isUneven(mode, mean)).toBe(uneven))
})
