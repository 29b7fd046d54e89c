import { describe, expect, it } from 'vitest'
import { parseCsv } from './csv'
import { kindOf, textOf } from './upload'

describe('CSV', () => {
  it.each([
    ['plain', 'a,b\n1,2\n', [['a', 'b'], ['1', '2']]],
    ['no last line end', 'a,b\n1,2', [['a', 'b'], ['1', '2']]],
    ['quotes, commas and line ends inside', 'a,b\n"x, ""y""","1\n2"\n', [['a', 'b'], ['x, "y"', '1\n2']]],
    ['Windows', 'a,b\r\n1,2\r\n', [['a', 'b'], ['1', '2']]],
    ['semicolons', 'a;b\n1,5;2\n', [['a', 'b'], ['1,5', '2']]],
    ['tabs', 'a\tb\n1\t2\n', [['a', 'b'], ['1', '2']]],
    ['empty cells', 'a,,c\n,,\n', [['a', '', 'c'], ['', '', '']]],
    ['a byte order mark', '\ufeffa,b\n', [['a', 'b']]],
    ['nothing', '', []],
  ])('%s', (_, text, rows) => expect(parseCsv(text, 100).rows).toEqual(rows))
  it('stops at its limit and counts on', () => expect(parseCsv('h\n1\n2\n3\n4\n', 3)).toEqual({ rows: [['h'], ['1'], ['2']], total: 5 }))
})

describe('files', () => {
  it.each([['notes.md', 'markdown'], ['READINGS.CSV', 'csv'], ['a.json', 'json'], ['page.htm', 'html'], ['log.txt', 'text'], ['Makefile', 'text']])('%s is %s', (name, kind) => expect(kindOf(name)).toBe(kind))
  it('text is read, bytes are refused', async () => {
    expect(await textOf(new File(['Grüße 你好'], 'a.txt'))).toBe('Grüße 你好')
    expect(await textOf(new File([new Uint8Array([0xff, 0xfe, 0x00])], 'a.png'))).toEqual({ name: 'a.png', why: 'notText' })
    expect(await textOf(new File(['a\0b'], 'a.bin'))).toEqual({ name: 'a.bin', why: 'notText' })
    expect(await textOf(new File([new Uint8Array(4 * 1024 * 1024 + 1)], 'big.txt'))).toEqual({ name: 'big.txt', why: 'tooLarge' })
  })
})
