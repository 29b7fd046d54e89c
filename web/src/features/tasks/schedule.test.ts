import { describe, expect, it } from 'vitest'
import type { Locale } from '@/i18n'
import { en } from '@/i18n/en'
import { zhCN } from '@/i18n/zh-CN'
import { type Draft, draftOf, plannedBy, startSentence } from './automation'
import { cronSentence } from './cron'
import { folded } from './fold'

const english: Locale = { lang: 'en', zone: 'Europe/Berlin', t: en }
const chinese: Locale = { lang: 'zh-CN', zone: 'Asia/Shanghai', t: zhCN }
const now = Date.parse('2026-03-04T20:00:00Z')

describe('a pattern in words', () => {
  it.each([
    ['* * * * *', 'Every minute'],
    ['*/15 * * * *', 'Every 15 minutes'],
    ['0 * * * *', 'Every hour at :00'],
    ['30 */6 * * *', 'Every 6 hours at :30'],
    ['0 7 * * 1-5', 'At 07:00, Monday to Friday'],
    ['0 7 * * MON-FRI', 'At 07:00, Monday to Friday'],
    ['0 8 * * *', 'At 08:00, every day'],
    ['0 8 * * 0,6', 'At 08:00, on weekends'],
    ['0 8 * * 6,7', 'At 08:00, on weekends'],
    ['0 9 * * 1,3', 'At 09:00, on Monday and Wednesday'],
    ['0 9,17 * * *', 'At 09:00 and 17:00, every day'],
    ['0 6 1 * *', 'At 06:00, on day 1 of the month'],
    ['0 6 1 jan,jul *', 'At 06:00, on day 1 of the month, in January and July'],
    ['@daily', 'At 00:00, every day'],
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
    [{ automation: { mode: 'schedule', pattern: '0 7 * * 1-5', timezone: 'Europe/Berlin' }, startAt: null }, 'At 07:00, Monday to Friday (Europe/Berlin)'],
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
    ['policies', { mode: 'heartbeat', interval: { value: '1', unit: 'day' }, overlap: 'queue', missed: 'all' }, { automation: { mode: 'heartbeat', intervalSeconds: 86_400, overlap: 'queue', missed: 'all' }, startAt: null }],
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

  it('another mode does not inherit the settings of the one before', () => {
    const open = draftOf({ automation: { mode: 'heartbeat', intervalSeconds: 600, jitterSeconds: 5 } }, 'UTC', now)
    expect(JSON.parse(JSON.stringify(plannedBy({ ...open, mode: 'schedule', pattern: '0 7 * * *', zone: 'UTC' }, 'UTC', now)))).toEqual({ automation: { mode: 'schedule', pattern: '0 7 * * *', timezone: 'UTC' }, startAt: null })
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
