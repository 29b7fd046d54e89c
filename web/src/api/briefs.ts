import { queryOptions } from '@tanstack/react-query'
import { http, ok } from './client'
import { keys } from './keys'
import { given, pages } from './paging'
import type { Query } from './types'

export type BriefFilters = Pick<Query<'/briefs'>, 'state' | 'type' | 'priority' | 'task'>

export const briefsQuery = (filters: BriefFilters) =>
  pages(keys.briefs(filters), ({ cursor, signal }) => ok(http.GET('/briefs', { signal, params: { query: given({ ...filters, limit: 50, cursor }) } })))

const countLimit = 100

/** What waits in the inbox, for the badge: at most a hundred are counted. */
export const waitingQuery = queryOptions({
  queryKey: keys.briefs({ waiting: true }),
  queryFn: async ({ signal }) => {
    const page = await ok(http.GET('/briefs', { signal, params: { query: { state: 'unresolved', limit: countLimit } } }))
    return {
      count: page.items.length,
      more: page.nextCursor !== null,
      decisions: page.items.filter((b) => b.type === 'decision').length,
    }
  },
  // A resting tab keeps its badge roughly right.
  refetchInterval: 60_000,
  refetchIntervalInBackground: true,
})

const at = (brief: string) => ({ params: { path: { brief } } })

export const briefQuery = (brief: string) =>
  queryOptions({ queryKey: keys.brief(brief), queryFn: ({ signal }) => ok(http.GET('/briefs/{brief}', { signal, ...at(brief) })) })

export const markRead = (brief: string) => ok(http.POST('/briefs/{brief}/read', { ...at(brief), body: {} }))
export const resolveBrief = (brief: string, action: string, comment?: string) =>
  ok(http.POST('/briefs/{brief}/resolve', { ...at(brief), body: given({ action, comment }) }))
