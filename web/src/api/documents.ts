import { queryOptions } from '@tanstack/react-query'
import { http, ok } from './client'
import { keys } from './keys'
import { given, pages } from './paging'
import type { Document } from './types'

export type DocumentFilters = { folder?: string; q?: string }

export const documentsQuery = (filters: DocumentFilters) =>
  pages(keys.documents(filters), ({ cursor, signal }) =>
    ok(http.GET('/documents', { signal, params: { query: given({ ...filters, limit: 50, cursor }) } })),
  )

const at = (doc: string) => ({ params: { path: { doc } } })

export const documentQuery = (doc: string) =>
  queryOptions({ queryKey: keys.document(doc), queryFn: ({ signal }) => ok(http.GET('/documents/{doc}', { signal, ...at(doc) })) })

export const versionsQuery = (doc: string) =>
  queryOptions({
    queryKey: keys.versions(doc),
    queryFn: async ({ signal }) =>
      (await ok(http.GET('/documents/{doc}/versions', { signal, params: { path: { doc }, query: { limit: 100 } } }))).items,
  })

export const versionQuery = (doc: string, version: number | undefined) =>
  queryOptions({
    queryKey: [...keys.versions(doc), version],
    queryFn: ({ signal }) =>
      ok(http.GET('/documents/{doc}/versions/{version}', { signal, params: { path: { doc, version: version ?? 0 } } })),
    enabled: version !== undefined,
    staleTime: Infinity, // a version never changes
  })

export type DocumentBody = { title: string; content: string; folder?: string; kind?: Document['kind'] }
export const createDocument = (body: DocumentBody) => ok(http.POST('/documents', { body }))
/** Refused with 412 when the document is no longer the version that was edited. */
export const updateDocument = (doc: string, body: { title?: string; content?: string; folder?: string }, version: number) =>
  ok(http.PATCH('/documents/{doc}', { ...at(doc), body, headers: { 'If-Match': `"${version}"` } }))
export const deleteDocument = (doc: string) => ok(http.DELETE('/documents/{doc}', at(doc)))
