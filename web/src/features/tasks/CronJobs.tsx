import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type CronJob, cronJobsQuery, deleteCronJob, updateCronJob } from '@/api/cronjobs'
import type { Agent } from '@/api/types'
import { lookup, useLocale } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Badge } from '@/ui/Badge'
import { Button, IconButton } from '@/ui/Button'
import { Word } from '@/ui/Code'
import { Confirm } from '@/ui/Dialog'
import { Checkbox } from '@/ui/Field'
import { Link } from '@/ui/Link'
import { rows } from '@/ui/Rows'
import { Bones, Nothing } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import { When } from '@/ui/When'
import { startSentence } from './automation'
import { CronJobForm } from './CronJobForm'
import styles from './CronJobs.module.css'

/** The schedules that an agent has of its own. */
export function CronJobs({ agent, mayEdit }: { agent: Agent; mayEdit: boolean }) {
  const p = usePlanning()
  const query = useQuery(cronJobsQuery)
  const [editing, setEditing] = useState<CronJob | 'new'>()
  return (
    <section className={styles.jobs} aria-label={`${p.cron.title}: ${agent.name}`}>
      <div className={styles.head}>
        <h3>{p.cron.title}</h3>
        {mayEdit && <Button small icon="plus" onClick={() => setEditing('new')}>{p.cron.add}<span className="visually-hidden"> {agent.name}</span></Button>}
      </div>
      <Answer query={query} bones={<Bones rows={2} height={44} />}>
        {(all) => {
          const jobs = all.filter((job) => job.agent === agent.id || job.agent === agent.slug)
          return jobs.length === 0 ? <Nothing>{p.cron.empty}</Nothing> : <ul className={rows.rows}>{jobs.map((job) => <li key={job.id} className={rows.row}><Job job={job} mayEdit={mayEdit} onEdit={() => setEditing(job)} /></li>)}</ul>
        }}
      </Answer>
      {editing && <CronJobForm agent={agent.slug} job={editing === 'new' ? undefined : editing} onClose={() => setEditing(undefined)} />}
    </section>
  )
}

function Job({ job, mayEdit, onEdit }: { job: CronJob; mayEdit: boolean; onEdit: () => void }) {
  const locale = useLocale()
  const { t } = locale
  const p = usePlanning()
  const client = useQueryClient()
  const [dropping, setDropping] = useState(false)
  const refresh = () => Promise.all([client.invalidateQueries({ queryKey: ['tasks'] }), client.invalidateQueries({ queryKey: ['task'] })])
  const act = useMutation({
    mutationFn: async (what: 'enable' | 'disable' | 'delete') => {
      if (what === 'delete') await deleteCronJob(job.id)
      else await updateCronJob(job, { enabled: what === 'enable' })
    },
    onSuccess: (_, what) => toast(p.cron.done[what](job.name)),
    onError: (error) => toastProblem(t, error),
    onSettled: () => {
      setDropping(false)
      return refresh()
    },
  })
  return (
    <>
      <div className={rows.line}>
        <Link data-row className={rows.grow} to={to.task(job.task)}>{job.name}</Link>
        <span className={styles.tools}>
          {mayEdit ? <Checkbox label={p.cron.enabled} aria-label={p.cron.enable(job.name)} checked={job.enabled} disabled={act.isPending} onChange={(e) => act.mutate(e.target.checked ? 'enable' : 'disable')} /> : !job.enabled && <Badge icon="pause">{p.cron.disabled}</Badge>}
          {mayEdit && <IconButton small icon="pencil" label={`${t.common.edit} ${job.name}`} onClick={onEdit} />}
          {mayEdit && <IconButton small icon="trash" label={`${t.common.delete} ${job.name}`} onClick={() => setDropping(true)} />}
        </span>
      </div>
      <div className={rows.meta}>
        <span className={rows.ref}>{job.task}</span>
        <span>{startSentence(locale, { automation: job.automation }, Date.now())}</span>
        <span>{job.template ? p.cron.makesTasks : p.cron.runsPrompt}</span>
        {job.enabled && job.nextRunAt && <span>{p.sentence.next} <When at={job.nextRunAt} zone={job.timezone} both /></span>}
        {job.maxExecutions != null && <span>{p.cron.remaining(job.remainingExecutions ?? 0, job.maxExecutions)}</span>}
        {job.enabled && job.heldBy && <span className={styles.held}>{lookup(t.reasons, job.heldBy)} <Word>{job.heldBy}</Word></span>}
        {job.lastRunAt && <span>{t.tasks.columns.last}: <When at={job.lastRunAt} ago /></span>}
      </div>
      {dropping && <Confirm danger title={p.cron.deleteTitle(job.name)} text={p.cron.deleteHint} confirm={t.common.delete} busy={act.isPending} onConfirm={() => act.mutate('delete')} onClose={() => setDropping(false)} />}
    </>
  )
}
