import { queryOptions } from '@tanstack/react-query'
import { http, ok } from './client'
import { keys } from './keys'
import { given } from './paging'
import type { Operation, Tick } from './types'

const at = (id: string) => ({ params: { path: { id } } })

export const topicQuery = (id: string) =>
  queryOptions({ queryKey: keys.topic(id), queryFn: ({ signal }) => ok(http.GET('/topics/{id}', { signal, ...at(id) })) })

export const conversationQuery = (id: string) =>
  queryOptions({
    queryKey: keys.conversation(id),
    queryFn: async ({ signal }) => (await ok(http.GET('/topics/{id}/conversation', { signal, ...at(id) }))).messages,
  })

export const cancelTopic = (id: string) => ok(http.POST('/topics/{id}/cancel', { ...at(id), body: {} }))

export const stepsQuery = (operation: string) =>
  queryOptions({
    queryKey: keys.steps(operation),
    queryFn: async ({ signal }) =>
      (await ok(http.GET('/operations/{id}/steps', { signal, params: { path: { id: operation }, query: { limit: 200 } } }))).items,
  })

// A shift report reads backwards until its window is over, and says so when a
// night was too long for that.
const reportPages = 3
const reportPageSize = 200

type Listed<T> = { items: T[]; whole: boolean }

async function back<T extends { createdAt: string }>(since: string, fetchPage: (cursor?: string) => Promise<{ items: T[]; nextCursor: string | null }>): Promise<Listed<T>> {
  const items: T[] = []
  let cursor: string | undefined
  for (let n = 0; n < reportPages; n++) {
    const page = await fetchPage(cursor)
    for (const item of page.items) {
      if (item.createdAt < since) return { items, whole: true }
      items.push(item)
    }
    if (!page.nextCursor) return { items, whole: true }
    cursor = page.nextCursor
  }
  return { items, whole: false }
}

export const operationsSinceQuery = (since: string) =>
  queryOptions({
    queryKey: keys.operations({ since }),
    queryFn: ({ signal }): Promise<Listed<Operation>> =>
      back(since, (cursor) => ok(http.GET('/operations', { signal, params: { query: given({ limit: reportPageSize, cursor }) } }))),
  })

/** Planned times that came to nothing. */
export const lostTicksSinceQuery = (since: string) =>
  queryOptions({
    queryKey: keys.ticks({ lost: since }),
    queryFn: async ({ signal }): Promise<Listed<Tick>> => {
      const lists = await Promise.all(
        (['skipped', 'missed'] as const).map((state) =>
          back(since, (cursor) => ok(http.GET('/ticks', { signal, params: { query: given({ state: [state], limit: reportPageSize, cursor }) } }))),
        ),
      )
      return { items: lists.flatMap((l) => l.items), whole: lists.every((l) => l.whole) }
    },
  })
