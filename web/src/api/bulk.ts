import { http, ok } from './client'
import { given } from './paging'
import type { TaskFilters } from './tasks'
import type { Schemas } from './types'

export type Bulk = Schemas['Bulk']
export type BulkAction = 'pause' | 'resume' | 'cancel'
/** Some tasks by their identifiers, or all that match filters. */
export type Chosen = { ids: string[] } | { filter: TaskFilters }

/** One order for many tasks: what cannot be done to one is in the answer. */
export const orderMany = (action: BulkAction, chosen: Chosen, note: string) => {
  const which = 'ids' in chosen ? { ids: chosen.ids } : { filter: words(chosen.filter) }
  return ok(http.POST('/tasks/bulk', { body: { action, ...which, ...given({ note: note.trim() }) } }))
}

const words = ({ status, priority, ...filter }: TaskFilters) => given({ ...filter, status: status && [status], priority: priority && [priority] })

export const undoMany = (id: string) => ok(http.POST('/tasks/bulk/{id}/undo', { params: { path: { id } } }))
