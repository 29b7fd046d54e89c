import { http, ok } from './client'
import { given } from './paging'
import type { Schemas } from './types'

export type BackfillAsk = { from: string; to?: string; max?: number; onlyMissing: boolean }
export type BackfillPlan = Schemas['BackfillPlan']

const at = (task: string) => ({ params: { path: { task } } })

/** Makes up for planned times of a range, one at a time, after the schedule's own. */
export const backfillTask = (task: string, ask: BackfillAsk) => ok(http.POST('/tasks/{task}/backfill', { ...at(task), body: given(ask) }))
/** Lets the times go that are still to be made up for. */
export const dropBackfill = (task: string) => ok(http.DELETE('/tasks/{task}/backfill', at(task)))
