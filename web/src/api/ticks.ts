import { queryOptions } from '@tanstack/react-query'
import { http, ok } from './client'
import { keys } from './keys'
import { given, pages } from './paging'
import type { Tick } from './types'

export type TickFilters = { state?: Tick['state']; reason?: string; task?: string }

/** The ledger of every task, the newest first. */
export const ticksQuery = ({ state, ...filters }: TickFilters) =>
  pages(keys.ticks({ all: { state, ...filters } }), ({ cursor, signal }) =>
    ok(http.GET('/ticks', { signal, params: { query: given({ ...filters, state: state && [state], limit: 50, cursor }) } })),
  )

const most = 200

/** Tasks that time will start, the next one first; each brings its next fires. */
export const plannedTasksQuery = queryOptions({
  queryKey: keys.tasks({ planned: true }),
  queryFn: async ({ signal }) => (await ok(http.GET('/tasks', { signal, params: { query: { sort: 'nextRunAt', status: ['scheduled', 'running'], limit: most } } }))).items.filter((task) => task.nextRunAt),
})

/** The names of the newest tasks by their identifier: the ledger has only that. */
export const taskNamesQuery = queryOptions({
  queryKey: keys.tasks({ names: true }),
  queryFn: async ({ signal }) => Object.fromEntries((await ok(http.GET('/tasks', { signal, params: { query: { limit: most } } }))).items.map((task) => [task.identifier, task.name])),
})
