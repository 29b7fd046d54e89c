import { describe, expect, it } from 'vitest'
import { noSelection, type Selection, toggled, within } from './selection'

const order = ['a', 'b', 'c', 'd', 'e']
const ids = (selection: Selection) => [...selection.ids].sort().join('')

describe('choosing rows', () => {
  it('takes one and lets it go', () => {
    const one = toggled(noSelection, 'b', order)
    expect(ids(one)).toBe('b')
    expect(ids(toggled(one, 'b', order))).toBe('')
  })
  it('takes a range from the last one, in either direction', () => {
    expect(ids(toggled(toggled(noSelection, 'b', order), 'd', order, true))).toBe('bcd')
    expect(ids(toggled(toggled(noSelection, 'd', order), 'b', order, true))).toBe('bcd')
  })
  it('lets a range go that ends on a chosen one', () => {
    const all = order.reduce((selection, id) => toggled(selection, id, order), noSelection)
    expect(ids(toggled(toggled(all, 'b', order), 'd', order, true))).toBe('ae')
  })
  it('a range without a beginning is one row, also when the first has left the list', () => {
    expect(ids(toggled(noSelection, 'c', order, true))).toBe('c')
    expect(ids(toggled({ ids: new Set(), last: 'gone' }, 'c', order, true))).toBe('c')
  })
  it('forgets what is not in the list any more', () => expect(ids(within({ ids: new Set(['a', 'x']) }, order))).toBe('a'))
})
