import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { given, itemsOf } from '@/api/paging'
import { type TaskFilters, tasksQuery } from '@/api/tasks'
import { BulkBar } from '@/features/tasks/BulkBar'
import { Filters } from '@/features/tasks/Filters'
import { priorities, startModes, statuses } from '@/features/tasks/looks'
import { noSelection, toggled, within } from '@/features/tasks/selection'
import { TaskTable } from '@/features/tasks/TaskTable'
import { useT } from '@/i18n'
import { to, wordsOf } from '@/places'
import { Answer } from '@/ui/Answer'
import { buttonClass } from '@/ui/Button'
import { Icon } from '@/ui/Icon'
import { useShortcuts } from '@/ui/keyboard'
import { Link } from '@/ui/Link'
import { Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { More } from '@/ui/Rows'
import { Bones, Empty } from '@/ui/States'
import { mayOperate, useMe } from './me'

/** The filters in an address; words that are none are left out. */
function filtersOf(search: string): TaskFilters {
  const { status, priority, automation, ...text } = wordsOf(search, 'q', 'label', 'assigneeAgent', 'status', 'priority', 'automation')
  return {
    ...text,
    ...given({ status: statuses.find((s) => s === status), priority: priorities.find((p) => p === priority), automation: startModes.find((m) => m === automation) }),
  }
}

export function TasksPage() {
  const t = useT()
  const me = useMe()
  const [, go] = useLocation()
  const search = useSearch()
  const filters: TaskFilters = useMemo(() => filtersOf(search), [search])
  const query = useInfiniteQuery({ ...tasksQuery(filters), placeholderData: (old) => old })
  const change = useCallback((next: TaskFilters) => go(to.tasks(next), { replace: true }), [go])
  const create = mayOperate(me) && <Link to={to.newTask()} className={buttonClass({ look: 'primary' })}><Icon name="plus" /><span>{t.app.newTask}</span></Link>
  const filtered = Object.values(filters).some(Boolean)
  const order = useMemo(() => itemsOf(query.data).map((task) => task.identifier), [query.data])
  const [selection, setSelection] = useState(noSelection)
  // All that match these filters, whatever is shown of them.
  const [matching, setMatching] = useState<TaskFilters>()
  const whole = matching === filters
  const { ids } = within(selection, order)
  const clear = () => {
    setSelection(noSelection)
    setMatching(undefined)
  }
  const pick = (task: string, range = false) => {
    setMatching(undefined)
    setSelection(toggled(whole ? { ids: new Set(order) } : within(selection, order), task, order, range))
  }
  const mayPick = mayOperate(me)
  const focused = () => document.activeElement?.closest<HTMLElement>('[data-task]')?.dataset.task
  useShortcuts(mayPick ? {
    x: () => { const task = focused(); if (task) pick(task) },
    X: () => { const task = focused(); if (task) pick(task, true) },
    ...(ids.size > 0 || whole ? { Escape: clear } : {}),
  } : {})
  return (
    <Page title={t.tasks.title}>
      <Filters filters={filters} onChange={change} />
      {(ids.size > 0 || whole) && <BulkBar chosen={whole ? { filter: filters } : { ids: [...ids] }} more={query.hasNextPage || ids.size < order.length} onAll={() => setMatching(filters)} onClear={clear} />}
      <Panel flush old={query.isPlaceholderData}>
        <Answer query={query} bones={<Bones rows={8} height={50} />}>
          {(data) => {
            const tasks = itemsOf(data)
            if (tasks.length === 0) return filtered ? <Empty icon="search" title={t.tasks.emptyFiltered} /> : <Empty icon="list" title={t.tasks.emptyTitle} hint={t.tasks.emptyHint}>{create}</Empty>
            return <><TaskTable tasks={tasks} picked={whole ? new Set(order) : ids} {...(mayPick ? { onPick: pick, onPickAll: (on) => { setMatching(undefined); setSelection({ ids: new Set(on ? order : []) }) } } : {})} /><More query={query} /></>
          }}
        </Answer>
      </Panel>
    </Page>
  )
}
