import { describe, expect, it } from 'vitest'
import { hourSteps, minuteSteps, patternNotes, patternOf, type Phrase, phraseOf } from './phrase'

describe('a pattern as words to choose', () => {
  it.each([
    ['0 7 * * 1-5', { kind: 'days', days: [1, 2, 3, 4, 5], hours: [7], minute: 0 }],
    ['0 7 * * MON-FRI', { kind: 'days', days: [1, 2, 3, 4, 5], hours: [7], minute: 0 }],
    ['30 9,17 * * *', { kind: 'days', days: [0, 1, 2, 3, 4, 5, 6], hours: [9, 17], minute: 30 }],
    ['0 8 * * 6,7', { kind: 'days', days: [0, 6], hours: [8], minute: 0 }],
    ['0 6 1,15 * *', { kind: 'dates', dates: [1, 15], hours: [6], minute: 0 }],
    ['*/15 * * * *', { kind: 'minutes', step: 15 }],
    ['* * * * *', { kind: 'minutes', step: 1 }],
    ['5 * * * *', { kind: 'hours', step: 1, minute: 5 }],
    ['5 */6 * * *', { kind: 'hours', step: 6, minute: 5 }],
    ['@daily', { kind: 'days', days: [0, 1, 2, 3, 4, 5, 6], hours: [0], minute: 0 }],
  ] as [string, Phrase][])('%s', (pattern, phrase) => expect(phraseOf(pattern)).toEqual(phrase))

  // Words that mean something else are worse than a pattern.
  it.each(['0 7 13 * 5', '*/7 * * * *', '5 */5 * * *', '0 7 * 1 *', '0,30 7 * * *', '*/15 9-17 * * *', '0 7 * * 1#2', '61 7 * * *', '0 7 * *', '', 'soon'])('%s has none', (pattern) => expect(phraseOf(pattern)).toBeNull())
})

describe('words as a pattern', () => {
  it.each([
    [{ kind: 'days', days: [1, 2, 3, 4, 5], hours: [7], minute: 0 }, '0 7 * * 1-5'],
    [{ kind: 'days', days: [0, 6], hours: [8], minute: 30 }, '30 8 * * 0,6'],
    [{ kind: 'days', days: [0, 1, 2, 3, 4, 5, 6], hours: [17, 9], minute: 0 }, '0 9,17 * * *'],
    [{ kind: 'dates', dates: [1, 2, 3, 15], hours: [6], minute: 0 }, '0 6 1-3,15 * *'],
    [{ kind: 'hours', step: 1, minute: 0 }, '0 * * * *'],
  ] as [Phrase, string][])('%j', (phrase, pattern) => expect(patternOf(phrase)).toBe(pattern))

  it('come back as they were, whatever is chosen', () => {
    const chosen: Phrase[] = [...minuteSteps.map((step): Phrase => ({ kind: 'minutes', step })), ...hourSteps.map((step): Phrase => ({ kind: 'hours', step, minute: 59 }))]
    // Every set of weekdays but none, and every pair of dates, at every hour.
    for (let set = 1; set < 128; set++) chosen.push({ kind: 'days', days: [0, 1, 2, 3, 4, 5, 6].filter((d) => set & (1 << d)), hours: [set % 24], minute: set % 60 })
    for (let date = 1; date < 31; date++) chosen.push({ kind: 'dates', dates: [date, date + 1], hours: [0, 12, 23], minute: date })
    for (const phrase of chosen) expect(phraseOf(patternOf(phrase))).toEqual(phrase)
  })
})

describe('what a pattern may hide', () => {
  it.each([
    ['0 7 13 * 5', ['either']],
    ['0 7 */2 * 1', ['either']],
    ['0 7 * * 1', []],
    ['0 7 */1 * 1', []],
    ['0 * * * *', ['elapsed']],
    ['*/15 9-17 * * *', ['elapsed']],
    ['0 0-23 * * *', ['wall']],
    ['0 7', []],
  ] as const)('%s: %j', (pattern, notes) => expect(patternNotes(pattern)).toEqual(notes))
})
