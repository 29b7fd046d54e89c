import { queryOptions } from '@tanstack/react-query'
import { http, ok } from './client'
import { keys } from './keys'
import type { Schemas } from './types'

export type CronJob = Schemas['CronJob']
export type CronJobCreate = Schemas['CronJobCreate']
export type CronJobPatch = Schemas['CronJobPatch']

export const cronJobsQuery = queryOptions({
  queryKey: keys.tasks({ cronJobs: true }), // each is a task: what changes that changes the job
  queryFn: async ({ signal }) => (await ok(http.GET('/cron-jobs', { signal, params: { query: { limit: 200 } } }))).items,
})

const at = (job: string) => ({ params: { path: { job } } })

export const createCronJob = (body: CronJobCreate) => ok(http.POST('/cron-jobs', { body }))
/** Refused with 412 when it is no longer the version that was edited. */
export const updateCronJob = (job: CronJob, body: CronJobPatch) => ok(http.PATCH('/cron-jobs/{job}', { ...at(job.id), body, headers: { 'If-Match': `"${job.version}"` } }))
export const deleteCronJob = (job: string) => ok(http.DELETE('/cron-jobs/{job}', at(job)))
