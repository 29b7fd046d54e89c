import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Redirect, useLocation, useSearch } from 'wouter'
import { briefsQuery } from '@/api/briefs'
import { itemsOf } from '@/api/paging'
import { agentsQuery } from '@/api/session'
import { commentsQuery, deleteTask, pinnedQuery, taskQuery, taskTicksQuery, taskTopicsQuery, whyQuery } from '@/api/tasks'
import type { Task } from '@/api/types'
import { BriefCard } from '@/features/briefs/BriefCard'
import { Pinned } from '@/features/documents/Pinned'
import { zoneOf } from '@/features/tasks/automation'
import { BackfillButton, mayBackfill } from '@/features/tasks/Backfill'
import { Comments } from '@/features/tasks/Comments'
import { Details } from '@/features/tasks/Details'
import { Ledger } from '@/features/tasks/Ledger'
import { Actions, StatusPanel } from '@/features/tasks/Status'
import { RunList } from '@/features/topics/RunList'
import { useT } from '@/i18n'
import { integerOf, to } from '@/places'
import { Answer } from '@/ui/Answer'
import { buttonClass, IconButton } from '@/ui/Button'
import { Confirm } from '@/ui/Dialog'
import { Disclosure } from '@/ui/Disclosure'
import { Icon } from '@/ui/Icon'
import { Link } from '@/ui/Link'
import { Markdown } from '@/ui/Markdown'
import { Column, Columns, Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { RowItem, Rows } from '@/ui/Rows'
import { Bones } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import { mayOperate, useMe } from './me'

export function TaskPage({ task }: { task: string }) {
  const query = useQuery(taskQuery(task))
  // The page is shown as a whole: parts that come one by one push each other down.
  const parts = [
    useQuery(whyQuery(task)),
    useInfiniteQuery(briefsQuery({ state: 'unresolved', task })),
    useInfiniteQuery(taskTopicsQuery(task)),
    useInfiniteQuery(commentsQuery(task)),
    useQuery(pinnedQuery(task)),
    useInfiniteQuery(taskTicksQuery(task)),
  ]
  const edit = integerOf(useSearch(), 'edit') !== undefined
  const me = useMe()
  // Buttons of briefs lead to the editor this way.
  if (edit && mayOperate(me)) return <Redirect to={to.editTask(task)} replace />
  const bones = <Panel><Bones rows={8} height={48} /></Panel>
  return <Answer query={query} bones={bones}>{(data) => parts.some((part) => part.isPending) ? bones : <TaskView task={data} />}</Answer>
}

function TaskView({ task }: { task: Task }) {
  const t = useT()
  const me = useMe()
  const agents = useQuery(agentsQuery).data ?? []
  const ref = task.identifier
  const mayWrite = mayOperate(me)
  const long = task.instruction.length > 600
  return (
    <Page
      title={task.name}
      tab={`${ref} ${task.name}`}
      over={<><Link to={to.tasks()}>{t.tasks.title}</Link> · {ref}</>}
      actions={
        <>
          <Actions task={task} />
          {mayWrite && <Link to={to.editTask(ref)} className={buttonClass()}><Icon name="pencil" /><span>{t.common.edit}</span></Link>}
          {mayWrite && <Delete task={ref} />}
        </>
      }
    >
      <Columns>
        <Column>
          <StatusPanel task={task} mayWrite={mayWrite} />
          <OpenBriefs task={ref} mayResolve={mayWrite} />
          <Panel flush title={t.tasks.runs} count={task.totalTopics || undefined}><RunList task={ref} /></Panel>
          <Panel flush title={t.tasks.comments}><Comments task={ref} me={me.person.id} mayWrite={mayWrite} /></Panel>
        </Column>
        <Column>
          <Panel title={t.tasks.instruction}>
            {long ? <Disclosure summary={task.instruction.slice(0, 160).replace(/\s+/g, ' ') + '…'}><Markdown text={task.instruction} /></Disclosure> : <Markdown text={task.instruction} />}
          </Panel>
          <Panel title={t.tasks.details}><Details task={task} agents={agents} /></Panel>
          <Panel flush title={t.documents.pinned}><Pinned task={ref} mayWrite={mayWrite} /></Panel>
          <Panel flush title={t.tasks.ledger} hint={t.tasks.ledgerHint} aside={mayWrite && mayBackfill(task) && <BackfillButton task={task} />}><Ledger task={ref} zone={zoneOf(task)} /></Panel>
        </Column>
      </Columns>
    </Page>
  )
}

function OpenBriefs({ task, mayResolve }: { task: string; mayResolve: boolean }) {
  const t = useT()
  const query = useInfiniteQuery(briefsQuery({ state: 'unresolved', task }))
  const briefs = itemsOf(query.data)
  if (briefs.length === 0) return null
  return (
    <Panel flush title={t.tasks.briefs} count={briefs.length}>
      <Rows label={t.tasks.briefs}>{briefs.map((brief) => <RowItem key={brief.id}><BriefCard brief={brief} compact mayResolve={mayResolve} /></RowItem>)}</Rows>
    </Panel>
  )
}

function Delete({ task }: { task: string }) {
  const t = useT()
  const client = useQueryClient()
  const [, go] = useLocation()
  const [asked, setAsked] = useState(false)
  const drop = useMutation({
    mutationFn: () => deleteTask(task),
    onSuccess: async () => {
      toast(t.tasks.deleted(task))
      go(to.tasks())
      client.removeQueries({ queryKey: taskQuery(task).queryKey })
      await client.invalidateQueries({ queryKey: ['tasks'] })
    },
    onError: (error) => {
      setAsked(false)
      toastProblem(t, error)
    },
  })
  return (
    <>
      <IconButton icon="trash" label={t.tasks.actions.delete} onClick={() => setAsked(true)} />
      {asked && <Confirm danger title={t.tasks.deleteTitle} text={t.tasks.deleteHint} confirm={t.common.delete} busy={drop.isPending} onConfirm={() => drop.mutate()} onClose={() => setAsked(false)} />}
    </>
  )
}
