import { expect, it } from 'vitest'
import { counted, gist } from './calls'

it('calls of the same tool are counted', () => expect(counted([{ name: 'read' }, { name: 'write' }, { name: 'read' }])).toEqual(['read ×2', 'write']))

it.each([
  ['{"document":"notes.md","offset":0}', 'notes.md, 0'],
  ['{"title":"","tags":["a"]}', ''],
  ['{"text":"a\\n b"}', 'a b'],
  ['not json', 'not json'],
  ['7', '7'],
  [`{"text":"${'x'.repeat(200)}"}`, `${'x'.repeat(80)}…`],
])('%s is about %s', (args, words) => expect(gist(args)).toBe(words))
