import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { backfillTask, type BackfillPlan, dropBackfill } from '@/api/backfill'
import { keys } from '@/api/keys'
import { asProblem } from '@/api/problem'
import type { Backfill, Task } from '@/api/types'
import { lookup, useLocale, useT } from '@/i18n'
import { fromLocalInput, localInput } from '@/i18n/format'
import { usePlanning } from '@/i18n/planning'
import { Button } from '@/ui/Button'
import { Word } from '@/ui/Code'
import { Dialog } from '@/ui/Dialog'
import { Checkbox, Field, Input } from '@/ui/Field'
import { Failure, Notice } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import { When } from '@/ui/When'
import styles from './Backfill.module.css'

const useRefresh = (task: string) => {
  const client = useQueryClient()
  return () => client.invalidateQueries({ queryKey: keys.task(task) })
}

/** Only what has planned times of its own can make up for them. */
export const mayBackfill = (task: Task) => task.automation?.mode === 'schedule' || task.automation?.mode === 'every'

export function BackfillButton({ task }: { task: Task }) {
  const p = usePlanning()
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button small icon="loop" onClick={() => setOpen(true)}>{p.backfill.open}</Button>
      {open && <Ask task={task} onClose={() => setOpen(false)} />}
    </>
  )
}

const dayMs = 86_400_000
const mostTimes = 100

function Ask({ task, onClose }: { task: Task; onClose: () => void }) {
  const { t, zone } = useLocale()
  const p = usePlanning()
  const refresh = useRefresh(task.identifier)
  const [from, setFrom] = useState(() => localInput(zone, Math.max(Date.now() - dayMs, Date.parse(task.createdAt))))
  const [to, setTo] = useState('')
  const [max, setMax] = useState('25')
  const [missing, setMissing] = useState(true)
  const [tried, setTried] = useState(false)
  const start = fromLocalInput(zone, from)
  const end = to === '' ? undefined : fromLocalInput(zone, to)
  const maxBad = !/^[1-9]\d*$/.test(max.trim()) || Number(max) > mostTimes
  const endBad = end === null || (end !== undefined && start !== null && end < start)
  const ask = useMutation({
    mutationFn: () => backfillTask(task.identifier, { from: new Date(start!).toISOString(), ...(end ? { to: new Date(end).toISOString() } : {}), max: Number(max), onlyMissing: missing }),
    onSettled: refresh,
  })
  const problem = ask.error ? asProblem(ask.error) : undefined
  if (ask.data) return <Outcome plan={ask.data} held={task.status === 'paused'} zone={task.automation?.timezone} onClose={onClose} />
  return (
    <Dialog title={p.backfill.title(task.identifier)} onClose={onClose}>
      <form className={styles.form} noValidate onSubmit={(e) => { e.preventDefault(); setTried(true); if (start !== null && !endBad && !maxBad) ask.mutate() }}>
        <p className={styles.hint}>{p.backfill.hint}</p>
        {task.status === 'paused' && <Notice tone="warn" icon="pause">{p.backfill.held}</Notice>}
        <div className={styles.fields}>
          <Field label={p.backfill.from} hint={zone} error={problem?.field('from') ?? (tried && start === null ? p.rules.badTime : undefined)}>{(w) => <Input {...w} type="datetime-local" autoFocus value={from} onChange={(e) => setFrom(e.target.value)} />}</Field>
          <Field label={p.backfill.to} optional hint={p.backfill.toHint} error={problem?.field('to') ?? (tried && endBad ? p.backfill.badEnd : undefined)}>{(w) => <Input {...w} type="datetime-local" value={to} onChange={(e) => setTo(e.target.value)} />}</Field>
        </div>
        <Field label={p.backfill.max} hint={p.backfill.maxHint} error={problem?.field('max') ?? (tried && maxBad ? p.backfill.badMax : undefined)}>{(w) => <Input {...w} inputMode="numeric" className={styles.count} value={max} onChange={(e) => setMax(e.target.value)} />}</Field>
        <Checkbox label={p.backfill.missing} checked={missing} onChange={(e) => setMissing(e.target.checked)} />
        {problem && !problem.covers(['from', 'to', 'max']) && <Failure error={problem} />}
        <div className={styles.end}>
          <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="primary" busy={ask.isPending}>{p.backfill.open}</Button>
        </div>
      </form>
    </Dialog>
  )
}

/** What came of it, as it was planned. */
function Outcome({ plan, held, zone, onClose }: { plan: BackfillPlan; held: boolean; zone?: string; onClose: () => void }) {
  const t = useT()
  const p = usePlanning()
  return (
    <Dialog title={plan.planned > 0 ? p.backfill.planned(plan.planned) : p.backfill.nothing} onClose={onClose}>
      <div className={styles.form}>
        <ul className={styles.list}>
          {plan.first && <li>{p.backfill.between} <When at={plan.first} zone={zone} />{plan.last !== plan.first && <> – <When at={plan.last} zone={zone} /></>}</li>}
          {plan.skippedAlreadyRan > 0 && <li>{p.backfill.ran(plan.skippedAlreadyRan)}</li>}
          {plan.skippedRefused > 0 && <li>{p.backfill.refused(plan.skippedRefused)}</li>}
          {plan.more && <li>{p.backfill.more}</li>}
          {plan.planned > 0 && <li>{held ? p.backfill.held : p.backfill.paced}</li>}
        </ul>
        <div className={styles.end}><Button look="primary" autoFocus onClick={onClose}>{t.common.close}</Button></div>
      </div>
    </Dialog>
  )
}

/** How far it has come, while it is under way. */
export function BackfillProgress({ task, backfill, mayDrop }: { task: string; backfill: Backfill; mayDrop: boolean }) {
  const { t } = useLocale()
  const p = usePlanning()
  const refresh = useRefresh(task)
  const drop = useMutation({
    mutationFn: () => dropBackfill(task),
    onSuccess: () => toast(p.backfill.dropped),
    onError: (error) => toastProblem(t, error),
    onSettled: refresh,
  })
  return (
    <Notice tone="info" icon="loop" action={mayDrop && <Button small busy={drop.isPending} onClick={() => drop.mutate()}>{p.backfill.drop}</Button>}>
      <span className={styles.progress}>
        <span>{p.backfill.progress(backfill.done, backfill.planned)}{backfill.next && <> · {p.backfill.next} <When at={backfill.next} /></>}</span>
        <progress max={backfill.planned} value={backfill.done} aria-label={p.backfill.progress(backfill.done, backfill.planned)} />
        {backfill.waitsFor && <span>{p.backfill.waits} {lookup(t.reasons, backfill.waitsFor)} <Word>{backfill.waitsFor}</Word></span>}
      </span>
    </Notice>
  )
}
