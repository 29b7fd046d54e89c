import { describe, expect, it } from 'vitest'
import { bytes, count, duration, exactUnit, fromLocalInput, localInput, moment, money, relative, sameClock } from './format'

const at = (text: string) => Date.parse(text)

describe('money', () => {
  it.each([
    [0, '$0.00'], [0.0042, '$0.0042'], [0.00000123, '$0.0000012'], [0.05, '$0.05'], [0.1234, '$0.12'], [12.3, '$12.30'], [1234.5, '$1,234.50'],
    [null, '–'], [undefined, '–'],
  ])('%s → %s', (usd, text) => expect(money('en', usd)).toBe(text))
})

describe('numbers', () => {
  it.each([[0, '0'], [9999, '9,999'], [12_345, '12.3K'], [2_500_000, '2.5M']])('%s → %s', (value, text) => expect(count('en', value)).toBe(text))
  it.each([[0, '0B'], [999, '999B'], [1500, '1.5 kB'], [3_400_000, '3.4 MB']])('%s bytes → %s', (size, text) => expect(bytes('en', size)).toBe(text))
})

describe('durations', () => {
  it.each([
    [0, '0 seconds'], [59, '59 seconds'], [60, '1 minute'], [5400, '1 hour 30 minutes'], [3601, '1 hour'], [86_400, '1 day'], [90_000, '1 day 1 hour'], [86_405, '1 day'],
  ])('%s s → %s', (seconds, text) => expect(duration('en', seconds)).toBe(text))
  it.each([[5400, 90, 'minute'], [3600, 1, 'hour'], [90, 90, 'second'], [172_800, 2, 'day']])('%s s is exactly %s %s', (seconds, value, unit) => expect(exactUnit(seconds)).toEqual({ value, unit }))
})

describe('moments', () => {
  const now = at('2026-03-04T20:00:00Z') // a Wednesday
  it.each([
    ['today its time', 'UTC', '2026-03-04T07:05:00Z', '07:05'],
    ['this week its weekday too', 'UTC', '2026-03-06T07:05:00Z', 'Fri 07:05'],
    ['later its date', 'UTC', '2026-03-20T07:05:00Z', 'Mar 20, 07:05'],
    ['another year the year', 'UTC', '2027-03-20T07:05:00Z', 'Mar 20, 2027, 07:05'],
    ['the zone decides what today is', 'Asia/Tokyo', '2026-03-04T14:59:00Z', 'Wed 23:59'],
    ['in a zone with half hours', 'Asia/Kolkata', '2026-03-04T19:00:00Z', '00:30'],
  ])('%s', (_, zone, when, text) => expect(moment('en', zone, at(when), now)).toBe(text))

  it.each([
    ['2026-03-04T20:00:20Z', 'in 20 seconds'], ['2026-03-04T20:05:10Z', 'in 5 minutes'], ['2026-03-04T18:00:00Z', '2 hours ago'], ['2026-03-03T19:00:00Z', 'yesterday'], ['2026-03-30T00:00:00Z', null],
  ])('%s is %s', (when, text) => expect(relative('en', at(when), now)).toBe(text))

  it('knows when two zones show the same clock', () => {
    expect(sameClock('Europe/Berlin', 'Europe/Paris', now)).toBe(true)
    expect(sameClock('Europe/Berlin', 'Europe/London', now)).toBe(false)
    expect(sameClock('Europe/London', 'UTC', at('2026-01-01T00:00:00Z'))).toBe(true)
    expect(sameClock('Europe/London', 'UTC', at('2026-07-01T00:00:00Z'))).toBe(false)
  })
})

describe('wall clocks of a zone', () => {
  it('go to moments and back', () => {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Chatham']) {
      for (let i = 0; i < 366; i += 5) {
        const moment = at('2026-01-01T00:17:00Z') + i * 86_400_000
        const local = localInput(zone, moment)
        expect(localInput(zone, fromLocalInput(zone, local)!), `${zone} ${local}`).toBe(local)
      }
    }
  })
  it('a time that the clock skips comes that much later', () => {
    expect(new Date(fromLocalInput('Europe/Berlin', '2026-03-29T02:30')!).toISOString()).toBe('2026-03-29T01:30:00.000Z') // 03:30 CEST
  })
  it('a time that comes twice is the first', () => {
    expect(new Date(fromLocalInput('Europe/Berlin', '2026-10-25T02:30')!).toISOString()).toBe('2026-10-25T00:30:00.000Z') // still CEST
  })
  it('nonsense is no moment', () => expect(fromLocalInput('UTC', 'soon')).toBeNull())
})
