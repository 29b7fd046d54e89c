import { describe, expect, it } from 'vitest'
import { pickLanguage } from '.'
import { en } from './en'
import { problemWords } from './problems'
import { planningEn } from './planning.en'
import { planningZhCN } from './planning.zh-CN'
import { zhCN } from './zh-CN'

type Tree = { [key: string]: Tree | string | ((...args: never[]) => string) }

/** Every leaf with its path. */
function leaves(tree: Tree, path = ''): [string, string | ((...args: never[]) => string)][] {
  return Object.entries(tree).flatMap(([key, value]) => (typeof value === 'object' ? leaves(value, `${path}${key}.`) : [[`${path}${key}`, value] as [string, typeof value]]))
}

const english = new Map(leaves({ ...en, planning: planningEn } as unknown as Tree))
const chinese = new Map(leaves({ ...zhCN, planning: planningZhCN } as unknown as Tree))

describe('the dictionaries', () => {
  // The types demand the keys already, save where a table is open for words of the
  // server's (origins, kinds).
  it('have the same keys', () => {
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort())
  })

  it('have no empty entry', () => {
    for (const [key, value] of [...english, ...chinese]) if (typeof value === 'string') expect(value.trim(), key).not.toBe('')
  })

  it('are translated', () => {
    // Names, and words that are the same everywhere.
    const same = /^(app\.name|actors\.system|common\.\w+|documents\.kinds\.\w+|tasks\.origin\.webhook)$/
    const untranslated = [...english].filter(([key, value]) => typeof value === 'string' && value === chinese.get(key) && !same.test(key)).map(([key]) => key)
    expect(untranslated).toEqual([])
  })

  it('take their arguments into the sentence', () => {
    const args = ['«a»', '«b»', '«c»', '«d»']
    for (const [key, value] of [...english, ...chinese]) {
      if (typeof value !== 'function' || value.length === 0 || key === 'schedule.join') continue
      const numbers = (value as (...a: unknown[]) => string)(7, 9, 9, 9)
      const words = (value as (...a: unknown[]) => string)(...args)
      expect(/7/.test(numbers) || words.includes(args[0]!), key).toBe(true)
    }
  })
})

describe('choosing a language', () => {
  it.each([
    [['zh-TW', 'en'], 'zh-CN'],
    [['zh'], 'zh-CN'],
    [['de-DE', 'zh-Hans'], 'zh-CN'],
    [['de-DE', 'en-GB', 'zh'], 'en'],
    [['de'], 'en'],
    [[], 'en'],
  ] as const)('%j → %s', (wishes, lang) => expect(pickLanguage(wishes)).toBe(lang))
})

describe('problems in words', () => {
  const problem = (status: number, code: string, detail = '', retryAfterSeconds?: number) => ({ status, code, detail, retryAfterSeconds })
  it.each([
    ['the server’s sentence wins', problem(409, 'in_flight', 'T-1 runs already.'), 'T-1 runs already.', 'in_flight'],
    ['a server that does not answer', problem(0, 'unreachable', 'fetch failed'), en.errors.unreachable, undefined],
    ['a wait', problem(429, 'rate_limited', '', 30), en.errors.rateLimited(30), 'rate_limited'],
    ['a role', problem(403, 'forbidden', 'x'), en.errors.forbidden, 'forbidden'],
    ['a stale version', problem(412, 'stale', 'x'), en.errors.stale, 'stale'],
    ['anything', new Error('boom'), 'boom', undefined],
  ])('%s', (_, error, text, code) => expect(problemWords(en, error)).toEqual({ text, ...(code ? { code } : {}) }))
})
