// Which rows of a list are chosen. Pure: the order of the list comes in.

export type Selection = { ids: Set<string>; /** The row that was chosen last: a range begins there. */ last?: string }

export const noSelection: Selection = { ids: new Set() }

/** Chooses a row or lets it go. With `range` all between it and the last one follow it. */
export function toggled({ ids, last }: Selection, id: string, order: string[], range = false): Selection {
  const on = !ids.has(id)
  const [from, to] = [order.indexOf(last ?? id), order.indexOf(id)].sort((a, b) => a - b) as [number, number]
  const touched = range && from >= 0 ? order.slice(from, to + 1) : [id]
  const next = new Set(ids)
  for (const each of touched) {
    if (on) next.add(each)
    else next.delete(each)
  }
  return { ids: next, last: id }
}

/** Rows that are no longer in the list are not chosen any more. */
export function within({ ids, last }: Selection, order: string[]): Selection {
  const known = new Set(order)
  return { ids: new Set([...ids].filter((id) => known.has(id))), last }
}
