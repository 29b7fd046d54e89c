import { queryOptions } from '@tanstack/react-query'
import { http, ok } from './client'
import { keys } from './keys'
import { given } from './paging'
import type { Agent, QuietHours, Workspace } from './types'

const state = async ({ signal }: { signal: AbortSignal }) => ok(http.GET('/workspace', { signal }))

/** What holds the workspace. Not of /me: that is read once, and a hold may begin at any moment. */
export const workspaceQuery = queryOptions({ queryKey: keys.workspace, queryFn: state })
/** The same with its open runs, which is stale with every run. */
export const openRunsQuery = queryOptions({ queryKey: keys.openRuns, queryFn: state })

export type Holding = 'pause' | 'stop' | 'maintenance'
export const holdWorkspace = (how: Holding, note: string) => {
  const body = given({ note: note.trim() })
  switch (how) {
    case 'pause':
      return ok(http.POST('/workspace/pause', { body }))
    case 'stop':
      return ok(http.POST('/workspace/stop', { body }))
    case 'maintenance':
      return ok(http.POST('/workspace/maintenance', { body }))
  }
}
export const resumeWorkspace = (catchUp: boolean) => ok(http.POST('/workspace/resume', { body: { catchUp } }))

export type WorkspaceEdit = { name?: string; timezone?: string; readOnly?: boolean; quietHours?: QuietHours | null }
export const updateWorkspace = (body: WorkspaceEdit, version: Workspace['version']) =>
  ok(http.PATCH('/workspace', { body, headers: { 'If-Match': `"${version}"` } }))

const at = (agent: string) => ({ params: { path: { agent } } })
export const pauseAgent = (agent: string, note: string) => ok(http.POST('/agents/{agent}/pause', { ...at(agent), body: given({ note: note.trim() }) }))
export const resumeAgent = (agent: string, catchUp: boolean) => ok(http.POST('/agents/{agent}/resume', { ...at(agent), body: { catchUp } }))
export const updateAgent = (agent: Agent, body: { quietHours?: QuietHours | null }) =>
  ok(http.PATCH('/agents/{agent}', { ...at(agent.slug), body, headers: { 'If-Match': `"${agent.version}"` } }))
