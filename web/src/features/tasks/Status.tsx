import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLookAgain } from '@/api/due'
import { keys } from '@/api/keys'
import { asProblem } from '@/api/problem'
import { cancelTask, completeTask, reopenTask, runTask, whyQuery } from '@/api/tasks'
import type { Task, Why } from '@/api/types'
import { lookup, useLocale, useT } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { Answer } from '@/ui/Answer'
import { Button } from '@/ui/Button'
import { Word } from '@/ui/Code'
import { Confirm } from '@/ui/Dialog'
import { Disclosure } from '@/ui/Disclosure'
import { Icon } from '@/ui/Icon'
import { Panel } from '@/ui/Panel'
import { Bones, Notice } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import { When } from '@/ui/When'
import { zoneOf } from './automation'
import { BackfillProgress } from './Backfill'
import { HoldTask } from './HoldTask'
import { type Act, acts } from './looks'
import styles from './Status.module.css'
import { StatusBadge } from './TaskTable'

/** What may be done with a task now, as buttons. */
export function Actions({ task }: { task: Task }) {
  const t = useT()
  const client = useQueryClient()
  const [asked, setAsked] = useState<'pause' | 'resume' | 'cancel'>()
  const refresh = () => {
    void client.invalidateQueries({ queryKey: keys.task(task.identifier) })
    void client.invalidateQueries({ queryKey: ['tasks'] })
  }
  const act = useMutation({
    mutationFn: async (act: Exclude<Act, 'pause' | 'resume'>) => {
      const ref = task.identifier
      if (act === 'run') {
        const run = await runTask(ref)
        toast(<>
          {run.queued ? t.tasks.queued(ref) : t.tasks.started(ref)}
          {!!run.skippedChecks?.length && <> {t.tasks.skippedChecks(run.skippedChecks.join(', '))}</>}
        </>)
        return
      }
      const after = await { cancel: cancelTask, complete: completeTask, reopen: reopenTask }[act](ref)
      client.setQueryData(keys.task(ref), after)
    },
    onError: (error) => (asProblem(error).code === 'in_flight' ? toast(t.tasks.inFlight, 'bad') : toastProblem(t, error)),
    onSettled: () => {
      setAsked(undefined)
      refresh()
    },
  })
  const press = (which: Act) => {
    if (which === 'cancel' || which === 'pause' || which === 'resume') setAsked(which)
    else act.mutate(which)
  }
  const offered = acts.filter((a) => task.actions.includes(a.act))
  const pending = act.isPending ? act.variables : undefined
  return (
    <>
      {offered.map(({ act: which, icon }, i) => (
        <Button key={which} icon={icon} look={i === 0 && (which === 'run' || which === 'resume' || which === 'reopen') ? 'primary' : which === 'cancel' ? 'quiet' : 'plain'} disabled={act.isPending} busy={pending === which && !asked} onClick={() => press(which)}>
          {t.tasks.actions[which]}
        </Button>
      ))}
      {asked === 'cancel' && <Confirm danger title={t.tasks.cancelTitle} text={t.tasks.cancelHint} confirm={t.tasks.actions.cancel} busy={act.isPending} onConfirm={() => act.mutate('cancel')} onClose={() => setAsked(undefined)} />}
      {(asked === 'pause' || asked === 'resume') && <HoldTask hold={asked} task={task} onClose={() => setAsked(undefined)} />}
    </>
  )
}

// After so many repeats a heartbeat slows down, and after so many a task is paused: docs/states.md.
const brakeAt = 3
const pauseAt = 6

/** Where a task stands and why, and what would happen at its next time. */
export function StatusPanel({ task, mayWrite }: { task: Task; mayWrite: boolean }) {
  const { t } = useLocale()
  const p = usePlanning()
  const query = useQuery(whyQuery(task.identifier))
  const sentence = lookup(t.reasons, task.statusReason)
  const client = useQueryClient()
  useLookAgain(task.nextRunAt, () => void client.invalidateQueries({ queryKey: keys.task(task.identifier) }))
  return (
    <Panel>
      <div className={styles.status}>
        <div className={styles.line}>
          <StatusBadge task={task} />
          <span>{sentence}</span>
          {task.statusReason && task.statusReason !== 'done' && <Word>{task.statusReason}</Word>}
        </div>
        {task.error && <p className={styles.error}><strong>{t.tasks.error}: </strong>{task.error}</p>}
        {task.nextRunAt && (
          <div className={styles.next}>
            <Icon name="clock" size={16} />
            <span>{t.tasks.next}</span>
            <strong><When at={task.nextRunAt} zone={zoneOf(task)} both seconds={task.automation?.mode === 'heartbeat'} /></strong>
            {task.nextRunWhy && <span className={styles.because}>{p.task.because} {task.nextRunWhy}</span>}
          </div>
        )}
        {task.repeats > 1 && <Notice tone={task.repeats >= brakeAt ? 'warn' : 'neutral'} icon="loop">{p.task.repeats(task.repeats, brakeAt, pauseAt)}</Notice>}
        {task.skips > 1 && <Notice tone="warn" icon="skip">{p.task.skips(task.skips)}</Notice>}
        {query.data?.backfill && <BackfillProgress task={task.identifier} backfill={query.data.backfill} mayDrop={mayWrite} />}
        <Answer query={query} bones={<Bones rows={1} height={28} />}>{(why) => <WhyLines why={why} planned={!!task.nextRunAt} held={task.status === 'paused' && !!task.automation} />}</Answer>
      </div>
    </Panel>
  )
}

function WhyLines({ why, planned, held }: { why: Why; planned: boolean; held: boolean }) {
  const t = useT()
  const p = usePlanning()
  // Of a task that nothing plans, its status has said already why it does not run.
  const refusal = why.checks.find((c) => !c.ok && (planned || !['paused', 'terminal', 'no_interval', 'no_pattern', 'mode_changed'].includes(c.check)))
  const sentence = refusal ? lookup(t.reasons, refusal.check) : undefined
  const paused = refusal ? undefined : why.checks.find((c) => c.check === 'paused' && !c.ok)?.detail // with its note
  return (
    <div className={styles.why}>
      <p>
        {refusal ? <>{t.tasks.whyRefused}: {refusal.detail || sentence} <Word>{refusal.check}</Word></> : planned ? t.tasks.whyRun : <>{paused && <>{paused} </>}{held ? t.tasks.whyPaused : t.tasks.whyIdle}</>}
      </p>
      <Disclosure summary={t.tasks.checksTitle}>
        <ol className={styles.checks}>
          {why.checks.map((check) => (
            <li key={check.check} className={check.ok ? styles.ok : styles.no}>
              <Icon name={check.ok ? 'check' : 'x'} size={15} />
              <code>{check.check}</code>
              <span className="visually-hidden">{check.ok ? t.tasks.checkOk : t.tasks.checkNo}</span>
              <span>{check.ok ? (lookup(p.checks, check.check) ?? check.detail) : check.detail || lookup(t.reasons, check.check)}</span>
            </li>
          ))}
        </ol>
      </Disclosure>
    </div>
  )
}
