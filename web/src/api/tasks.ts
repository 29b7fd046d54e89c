import { queryOptions } from '@tanstack/react-query'
import { http, ok } from './client'
import { keys } from './keys'
import { given, pages } from './paging'
import type { Automation, Query, Task, TaskCreate, TaskPatch } from './types'

type TaskQuery = Query<'/tasks'>
export type TaskFilters = Pick<TaskQuery, 'q' | 'automation' | 'label' | 'assigneeAgent'> & { status?: Task['status']; priority?: Task['priority'] }

const pageSize = 50

export const tasksQuery = ({ status, priority, ...filters }: TaskFilters) => {
  const query: TaskQuery = given({ ...filters, status: status && [status], priority: priority && [priority], limit: pageSize })
  return pages(keys.tasks(query), ({ cursor, signal }) => ok(http.GET('/tasks', { signal, params: { query: given({ ...query, cursor }) } })))
}

/** Whether there is any task at all. */
export const anyTaskQuery = queryOptions({
  queryKey: keys.tasks({ any: true }),
  queryFn: async ({ signal }) => (await ok(http.GET('/tasks', { signal, params: { query: { limit: 1 } } }))).items.length > 0,
})

/** The armed tasks whose next fire comes first. */
export const nextTasksQuery = (limit: number) =>
  queryOptions({
    queryKey: keys.tasks({ next: limit }),
    queryFn: async ({ signal }) =>
      (await ok(http.GET('/tasks', { signal, params: { query: { sort: 'nextRunAt', status: ['scheduled'], limit } } }))).items,
  })

const at = (task: string) => ({ params: { path: { task } } })

export const taskQuery = (task: string) =>
  queryOptions({ queryKey: keys.task(task), queryFn: ({ signal }) => ok(http.GET('/tasks/{task}', { signal, ...at(task) })) })

export const whyQuery = (task: string) =>
  queryOptions({ queryKey: keys.taskPart(task, 'why'), queryFn: ({ signal }) => ok(http.GET('/tasks/{task}/why', { signal, ...at(task) })) })

export const taskTicksQuery = (task: string) =>
  pages(keys.taskPart(task, 'ticks'), ({ cursor, signal }) =>
    ok(http.GET('/tasks/{task}/ticks', { signal, params: { path: { task }, query: given({ limit: 20, cursor }) } })),
  )

export const taskTopicsQuery = (task: string) =>
  pages(keys.taskPart(task, 'topics'), ({ cursor, signal }) =>
    ok(http.GET('/tasks/{task}/topics', { signal, params: { path: { task }, query: given({ limit: 10, cursor }) } })),
  )

export const commentsQuery = (task: string) =>
  pages(keys.taskPart(task, 'comments'), ({ cursor, signal }) =>
    ok(http.GET('/tasks/{task}/comments', { signal, params: { path: { task }, query: given({ limit: 50, cursor }) } })),
  )

export const pinnedQuery = (task: string) =>
  queryOptions({
    queryKey: keys.taskPart(task, 'documents'),
    queryFn: async ({ signal }) =>
      (await ok(http.GET('/tasks/{task}/documents', { signal, params: { path: { task }, query: { limit: 200 } } }))).items,
  })

export const createTask = (body: TaskCreate) => ok(http.POST('/tasks', { body }))
/** Refused with 412 when the task is no longer the version that was edited. */
export const updateTask = (task: string, body: TaskPatch, version: number) =>
  ok(http.PATCH('/tasks/{task}', { ...at(task), body, headers: { 'If-Match': `"${version}"` } }))
export const deleteTask = (task: string) => ok(http.DELETE('/tasks/{task}', at(task)))

export const runTask = (task: string, note?: string) => ok(http.POST('/tasks/{task}/run', { ...at(task), body: given({ note }) }))
export const pauseTask = (task: string, how: { interrupt: boolean; note: string }) =>
  ok(http.POST('/tasks/{task}/pause', { ...at(task), body: given({ interrupt: how.interrupt || undefined, note: how.note.trim() || undefined }) }))
/** With catchUp one run begins at once, for all the times that passed. */
export const resumeTask = (task: string, catchUp: boolean) => ok(http.POST('/tasks/{task}/resume', { ...at(task), body: given({ catchUp: catchUp || undefined }) }))
export const cancelTask = (task: string) => ok(http.POST('/tasks/{task}/cancel', { ...at(task), body: {} }))
export const completeTask = (task: string) => ok(http.POST('/tasks/{task}/complete', { ...at(task), body: {} }))
export const reopenTask = (task: string) => ok(http.POST('/tasks/{task}/reopen', { ...at(task), body: {} }))

export const addComment = (task: string, content: string) => ok(http.POST('/tasks/{task}/comments', { ...at(task), body: { content } }))
export const deleteComment = (id: string) => ok(http.DELETE('/comments/{id}', { params: { path: { id } } }))

export const pinDocument = (task: string, doc: string) => ok(http.PUT('/tasks/{task}/documents/{doc}', { params: { path: { task, doc } } }))
export const unpinDocument = (task: string, doc: string) => ok(http.DELETE('/tasks/{task}/documents/{doc}', { params: { path: { task, doc } } }))

/** The next fires of an automation that nobody has saved. */
export const previewQuery = (automation: Automation | null, count: number) =>
  queryOptions({
    queryKey: ['preview', automation, count] as const,
    queryFn: ({ signal }) => ok(http.POST('/schedules/preview', { signal, body: { automation: automation!, count } })),
    enabled: automation !== null,
    retry: false,
    staleTime: 10_000,
  })
