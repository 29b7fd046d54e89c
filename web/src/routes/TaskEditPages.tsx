import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { given } from '@/api/paging'
import { asProblem } from '@/api/problem'
import { agentsQuery } from '@/api/session'
import { createTask, pinDocument, runTask, taskQuery, updateTask } from '@/api/tasks'
import type { Document, Task } from '@/api/types'
import { DocumentPicker } from '@/features/documents/Pinned'
import { changed, collides } from '@/features/tasks/patch'
import { TaskForm, type TaskValues } from '@/features/tasks/TaskForm'
import { useT } from '@/i18n'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Badge } from '@/ui/Badge'
import { Disclosure } from '@/ui/Disclosure'
import { Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { Bones } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'

/** The budget and acceptance of a form as the API has them; what the form does not show stays. */
function configOf(values: TaskValues, saved?: Task['config']): Task['config'] {
  const limits = (usd: number | null, kept: object | null | undefined) => {
    const { usd: _, ...rest } = (kept ?? {}) as { usd?: number }
    const all = usd === null ? rest : { ...rest, usd }
    return Object.keys(all).length > 0 ? all : undefined
  }
  const day = limits(values.budgetDay, saved?.budget?.day)
  const operation = limits(values.budgetRun, saved?.budget?.operation)
  const budget = day || operation ? given({ day, operation }) : undefined
  return given({ ...saved, acceptance: values.acceptance || saved?.acceptance, budget, concurrencyKey: values.concurrencyKey || undefined, failureFuse: values.failureFuse ?? undefined }) as Task['config']
}

export function NewTaskPage() {
  const t = useT()
  const client = useQueryClient()
  const [, go] = useLocation()
  const agents = useQuery(agentsQuery).data ?? []
  const [picked, setPicked] = useState<Map<string, Document>>(new Map())

  const create = useMutation({
    mutationFn: async (values: TaskValues) => {
      const config = configOf(values)
      const task = await createTask({
        instruction: values.instruction,
        ...given({ name: values.name, assigneeAgent: values.assigneeAgent }),
        ...(values.priority === 'none' ? {} : { priority: values.priority }),
        ...(values.labels.length > 0 ? { labels: values.labels } : {}),
        ...(values.automation ? { automation: values.automation } : {}),
        ...(values.startAt ? { startAt: values.startAt } : {}),
        ...(values.maxTopics ? { maxTopics: values.maxTopics } : {}),
        ...(Object.keys(config).length > 0 ? { config } : {}),
      })
      // Documents first, so that the first run reads them.
      try {
        for (const doc of picked.keys()) await pinDocument(task.identifier, doc)
      } catch (error) {
        toastProblem(t, error)
        toast(t.form.pinFailed, 'bad')
        return task // not started: it would run without what it should read
      }
      if (values.runNow) await runTask(task.identifier).catch((error) => toastProblem(t, error))
      return task
    },
    onSuccess: async (task) => {
      void client.invalidateQueries({ queryKey: ['tasks'] })
      go(to.task(task.identifier), { replace: true })
    },
  })

  return (
    <Page title={t.form.newTitle}>
      <TaskForm
        agents={agents}
        busy={create.isPending}
        error={create.error}
        onSubmit={(values) => create.mutate(values)}
        onCancel={() => void go(to.tasks())}
        documents={
          <Panel>
            <Disclosure summary={<>{t.form.documents} {[...picked.values()].map((doc) => <Badge key={doc.id}>{doc.title}</Badge>)}</>}>
              <DocumentPicker
                picked={new Set(picked.keys())}
                onToggle={(doc, on) => {
                  const next = new Map(picked)
                  if (on) next.set(doc.id, doc)
                  else next.delete(doc.id)
                  setPicked(next)
                }}
              />
            </Disclosure>
          </Panel>
        }
      />
    </Page>
  )
}

export function EditTaskPage({ task }: { task: string }) {
  const query = useQuery(taskQuery(task))
  return <Answer query={query} bones={<Panel><Bones rows={6} height={44} /></Panel>}>{(data) => <Edit key={data.id} saved={data} />}</Answer>
}

function Edit({ saved }: { saved: Task }) {
  const t = useT()
  const client = useQueryClient()
  const [, go] = useLocation()
  const agents = useQuery(agentsQuery).data ?? []
  // The task as it was when the form opened: an event must not pull it away.
  const [task] = useState(saved)
  // What the next save is made on: after a refusal the newer state, which has been told.
  const [madeOn, setMadeOn] = useState(saved)
  const ref = task.identifier
  const save = useMutation({
    mutationFn: async (values: TaskValues) => {
      const patch = changed(task, {
        instruction: values.instruction,
        ...(values.name ? { name: values.name } : {}),
        automation: values.automation ?? null,
        startAt: values.startAt,
        priority: values.priority,
        labels: values.labels,
        maxTopics: values.maxTopics,
        config: configOf(values, task.config),
        ...(values.assigneeAgent ? { assigneeAgent: values.assigneeAgent } : {}),
      })
      if (Object.keys(patch).length === 0) return task
      let { version } = madeOn
      for (;;) {
        try {
          return await updateTask(ref, patch, version)
        } catch (error) {
          if (asProblem(error).status !== 412) throw error
          const now = await client.fetchQuery({ ...taskQuery(ref), staleTime: 0 })
          if (now.version === version || collides(patch, madeOn, now)) {
            setMadeOn(now)
            throw error
          }
          version = now.version // it ran meanwhile; what is edited here is as it was
        }
      }
    },
    onSuccess: async () => {
      void client.invalidateQueries({ queryKey: ['tasks'] })
      await client.invalidateQueries({ queryKey: taskQuery(ref).queryKey })
      go(to.task(ref))
    },
  })
  return (
    <Page title={t.form.editTitle(ref)} over={task.name}>
      <TaskForm task={task} agents={agents} busy={save.isPending} error={save.error} onSubmit={(values) => save.mutate(values)} onCancel={() => void go(to.task(ref))} />
    </Page>
  )
}
