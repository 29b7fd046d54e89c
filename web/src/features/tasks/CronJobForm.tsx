import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createCronJob, type CronJob, updateCronJob } from '@/api/cronjobs'
import { asProblem } from '@/api/problem'
import { previewQuery } from '@/api/tasks'
import { useLocale } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Field, FieldError, Input, TextArea } from '@/ui/Field'
import { Segments } from '@/ui/Segments'
import { Failure } from '@/ui/States'
import { toast } from '@/ui/Toasts'
import { useSettled } from '@/ui/settled'
import { When } from '@/ui/When'
import { Hours } from '@/ui/week/Hours'
import { Weekdays } from '@/ui/week/Weekdays'
import { createOf, type JobDraft, jobDraftOf, patchOf, saidBy } from './cronjob'
import styles from './CronJobs.module.css'
import { Sentence } from './Sentence'

/** A cron job of an agent, new or as it is. */
export function CronJobForm({ agent, job, onClose }: { agent: string; job?: CronJob; onClose: () => void }) {
  const { t, zone } = useLocale()
  const p = usePlanning()
  const client = useQueryClient()
  const [draft, setDraft] = useState(() => jobDraftOf(job, zone))
  const [tried, setTried] = useState(false)
  const set = (part: Partial<JobDraft>) => setDraft((old) => ({ ...old, ...part }))
  const said = saidBy(draft)
  const wrong = tried && 'wrong' in said ? said.wrong : undefined
  const planned = useSettled({ mode: 'schedule' as const, pattern: draft.pattern.trim(), timezone: draft.zone.trim() || 'UTC' }, 200)
  // @every is a fixed grid: the server reads it, a preview of it would be of another kind.
  const preview = useQuery({ ...previewQuery(planned.pattern && !planned.pattern.startsWith('@every') ? planned : null, 3), placeholderData: (old) => old })
  const save = useMutation({
    mutationFn: async () => {
      if ('wrong' in said) return
      if (!job) await createCronJob(createOf(agent, said))
      else await updateCronJob(job, patchOf(job, said))
    },
    onSuccess: async () => {
      toast(t.common.saved)
      onClose()
      await client.invalidateQueries({ queryKey: ['tasks'] })
    },
  })
  const problem = save.error ? asProblem(save.error) : undefined
  const known = ['name', 'prompt', 'template', 'pattern', 'timezone', 'maxExecutions', 'conditions']
  return (
    <Dialog wide title={job ? p.cron.edit(job.name) : p.cron.add} onClose={onClose}>
      <form className={styles.form} noValidate onSubmit={(e) => { e.preventDefault(); setTried(true); if (!('wrong' in said)) save.mutate() }}>
        {!job && <Segments label={p.cron.kind} value={draft.kind} options={[['prompt', p.cron.kinds.prompt], ['template', p.cron.kinds.template]]} onPick={(kind) => set({ kind })} />}
        <Field label={p.cron.work} hint={p.cron.kindHints[draft.kind]} error={wrong === 'work' ? t.form.instructionNeeded : (problem?.field('prompt') ?? problem?.field('template'))}>{(w) => <TextArea {...w} rows={3} autoFocus maxLength={100_000} value={draft.work} onChange={(e) => set({ work: e.target.value })} />}</Field>
        <Field label={t.form.name} optional error={problem?.field('name')}>{(w) => <Input {...w} maxLength={200} placeholder={t.form.namePlaceholder} value={draft.name} onChange={(e) => set({ name: e.target.value })} />}</Field>
        <Sentence pattern={draft.pattern} zone={draft.zone} saved={preview.data?.automation.pattern} onChange={set} />
        {problem?.field('pattern') || problem?.field('timezone') ? <FieldError>{problem.field('pattern') ?? problem.field('timezone')}</FieldError> : preview.error ? <FieldError>{asProblem(preview.error).fields[0]?.message ?? asProblem(preview.error).detail}</FieldError> : preview.data && <p>{p.sentence.next} {preview.data.items.map((fire, i) => <span key={fire.at}>{i > 0 && ' · '}<When at={fire.at} zone={planned.timezone} /></span>)}</p>}
        <div className={styles.fields}>
          <Field label={p.rules.names.maxExecutions} optional error={wrong === 'max' ? t.form.badInterval : problem?.field('maxExecutions')}>{(w) => <Input {...w} inputMode="numeric" value={draft.max} onChange={(e) => set({ max: e.target.value })} />}</Field>
          <Field label={p.rules.names.perDay} optional error={wrong === 'perDay' ? t.form.badInterval : undefined}>{(w) => <Input {...w} inputMode="numeric" value={draft.perDay} onChange={(e) => set({ perDay: e.target.value })} />}</Field>
        </div>
        <div className={styles.labelled}>
          <span className={styles.label}>{p.rules.activeHours}</span>
          <Hours from={draft.from} until={draft.until} labels={[p.rules.names.from, p.rules.names.until]} between={p.rules.to} bad={wrong === 'from' || wrong === 'until' ? wrong : undefined} onChange={set} />
          <span className={styles.label}>{p.rules.names.days}</span>
          <Weekdays label={p.rules.names.days} value={draft.days} onChange={(days) => set({ days })} />
          {problem?.field('conditions') && <FieldError>{problem.field('conditions')}</FieldError>}
        </div>
        {problem && !problem.covers(known) && <Failure error={problem} />}
        <div className={styles.end}>
          <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="primary" busy={save.isPending}>{t.common.save}</Button>
        </div>
      </form>
    </Dialog>
  )
}
