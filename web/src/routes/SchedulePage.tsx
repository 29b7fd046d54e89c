import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { useLookAgain } from '@/api/due'
import { itemsOf } from '@/api/paging'
import { agentsQuery } from '@/api/session'
import { plannedTasksQuery, taskNamesQuery, ticksQuery } from '@/api/ticks'
import { workspaceQuery } from '@/api/workspace'
import { byDay, heldBy, upcoming } from '@/features/tasks/timeline'
import { isTaskRef, outcomes, type TimelineFilter, TimelineFilters } from '@/features/tasks/TimelineFilters'
import { Timeline } from '@/features/tasks/Timeline'
import { useLocale } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { to, wordsOf } from '@/places'
import { Button } from '@/ui/Button'
import { Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { More } from '@/ui/Rows'
import { Bones, Empty, Failure } from '@/ui/States'
import { useNow } from '@/ui/When'

// How much of the future stands above now until more is asked for.
const soon = 8

function filterOf(search: string): TimelineFilter {
  const { state, reason, task } = wordsOf(search, 'state', 'reason', 'task')
  return { state: outcomes.find((s) => s === state), reason, task: task && isTaskRef(task) ? task.toUpperCase() : undefined }
}

/** Past and future of every task on one line. */
export function SchedulePage() {
  const { t, zone } = useLocale()
  const p = usePlanning()
  const client = useQueryClient()
  const [, go] = useLocation()
  const search = useSearch()
  const filter = useMemo(() => filterOf(search), [search])
  const [all, setAll] = useState(false)
  const now = useNow(15_000)

  const wantsPast = filter.state !== 'planned'
  const wantsNext = (!filter.state || filter.state === 'planned') && !filter.reason
  const state = filter.state === 'planned' ? undefined : filter.state
  const past = useInfiniteQuery({ ...ticksQuery({ state, reason: filter.reason, task: filter.task }), enabled: wantsPast, placeholderData: (old) => old })
  const planned = useQuery(plannedTasksQuery)
  const names = useQuery(taskNamesQuery).data ?? {}
  const workspace = useQuery(workspaceQuery).data
  const agents = useQuery(agentsQuery).data
  const paused = useMemo(() => new Set(agents?.filter((a) => a.pausedAt).map((a) => a.id)), [agents])

  const next = useMemo(() => (wantsNext ? upcoming((planned.data ?? []).filter((task) => !filter.task || task.identifier === filter.task), now) : []), [planned.data, wantsNext, filter.task, now])
  const shown = all || filter.state === 'planned' ? next : next.slice(0, soon)
  const days = useMemo(() => byDay(shown, wantsPast ? itemsOf(past.data) : [], zone), [shown, wantsPast, past.data, zone])

  useLookAgain(planned.data?.[0]?.nextRunAt, () => {
    void planned.refetch()
    void client.invalidateQueries({ queryKey: ['ticks'] })
  })
  const error = planned.error ?? (wantsPast ? past.error : null)
  const waits = planned.isPending || (wantsPast && past.isPending)
  const filtered = Object.values(filter).some(Boolean)
  return (
    <Page title={t.app.schedule}>
      <TimelineFilters filter={filter} names={names} onChange={(chosen) => go(to.schedule(chosen), { replace: true })} />
      <Panel flush old={wantsPast && past.isPlaceholderData}>
        {error && days.length === 0 ? (
          <Failure title={t.errors.load} error={error} onRetry={() => { void planned.refetch(); if (wantsPast) void past.refetch() }} />
        ) : waits ? (
          <Bones rows={9} height={46} />
        ) : days.length === 0 ? (
          filtered ? <Empty icon="search" title={p.timeline.emptyFiltered} /> : <Empty icon="calendar" title={p.timeline.emptyTitle} hint={p.timeline.emptyHint} />
        ) : (
          <>
            {next.length > shown.length && <Later count={next.length - shown.length} onClick={() => setAll(true)} />}
            <Timeline days={days} names={names} heldBy={(task) => heldBy(task, workspace, paused)} />
            {wantsPast && <More query={past} />}
          </>
        )}
      </Panel>
    </Page>
  )
}

function Later({ count, onClick }: { count: number; onClick: () => void }) {
  const p = usePlanning()
  return <div style={{ display: 'flex', justifyContent: 'center' }}><Button small look="quiet" icon="clock" onClick={onClick}>{p.timeline.later(count)}</Button></div>
}
