import { queryOptions } from '@tanstack/react-query'
import { http, ok } from './client'
import { keys } from './keys'
import type { Calendar } from './types'

export const calendarsQuery = queryOptions({
  queryKey: keys.calendars,
  queryFn: async ({ signal }) => (await ok(http.GET('/calendars', { signal, params: { query: { limit: 200 } } }))).items,
})

export type CalendarBody = Pick<Calendar, 'name' | 'dates' | 'ranges'>
export const createCalendar = (body: CalendarBody) => ok(http.POST('/calendars', { body }))
/** Refused with 412 when it is no longer the version that was edited. */
export const updateCalendar = (calendar: Calendar, body: Partial<CalendarBody>) =>
  ok(http.PATCH('/calendars/{calendar}', { params: { path: { calendar: calendar.id } }, body, headers: { 'If-Match': `"${calendar.version}"` } }))
export const deleteCalendar = (id: string) => ok(http.DELETE('/calendars/{calendar}', { params: { path: { calendar: id } } }))
