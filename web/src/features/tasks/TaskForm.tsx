import { type ReactNode, useState } from 'react'
import { asProblem } from '@/api/problem'
import type { Agent, Task, TaskCreate } from '@/api/types'
import { useLocale } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { Button } from '@/ui/Button'
import { Disclosure } from '@/ui/Disclosure'
import { Checkbox, Field, Input, Select, TextArea } from '@/ui/Field'
import { Panel } from '@/ui/Panel'
import { Failure } from '@/ui/States'
import { AutomationEditor } from './AutomationEditor'
import { type Draft, draftOf, plannedBy } from './automation'
import { priorities } from './looks'
import styles from './TaskForm.module.css'

/** What a filled form comes to. */
export type TaskValues = Required<Pick<TaskCreate, 'instruction' | 'priority' | 'labels'>> & {
  name: string
  automation: TaskCreate['automation'] | null
  startAt: string | null
  assigneeAgent: string
  maxTopics: number | null
  acceptance: 'review' | 'auto' | ''
  concurrencyKey: string
  failureFuse: number | null
  budgetDay: number | null
  budgetRun: number | null
  runNow: boolean
}

type Props = {
  task?: Task
  agents: Agent[]
  busy: boolean
  error: unknown
  /** The picker of documents: another feature's, so it comes from the page. */
  documents?: ReactNode
  onSubmit: (values: TaskValues) => void
  onCancel: () => void
}

const usd = (text: string): number | null | 'bad' => (text.trim() === '' ? null : /^\d+([.,]\d+)?$/.test(text.trim()) && Number(text.replace(',', '.')) > 0 ? Number(text.replace(',', '.')) : 'bad')
const text = (value: number | null | undefined) => (value === null || value === undefined ? '' : String(value))

export function TaskForm({ task, agents, busy, error, documents, onSubmit, onCancel }: Props) {
  const { t, zone } = useLocale()
  const p = usePlanning()
  const [instruction, setInstruction] = useState(task?.instruction ?? '')
  const [name, setName] = useState(task?.name ?? '')
  const [draft, setDraft] = useState<Draft>(() => draftOf(task, zone, Date.now()))
  const [agent, setAgent] = useState(task?.assigneeAgent ?? '')
  const [priority, setPriority] = useState<NonNullable<TaskCreate['priority']>>(task?.priority ?? 'none')
  const [labels, setLabels] = useState(task?.labels.join(', ') ?? '')
  const [acceptance, setAcceptance] = useState<TaskValues['acceptance']>(task?.config.acceptance ?? '')
  const [day, setDay] = useState(text(task?.config.budget?.day?.usd))
  const [run, setRun] = useState(text(task?.config.budget?.operation?.usd))
  const [max, setMax] = useState(text(task?.maxTopics))
  const [key, setKey] = useState(task?.config.concurrencyKey ?? '')
  const [fuse, setFuse] = useState(text(task?.config.failureFuse))
  // A task by hand is made to run; one with a schedule has its first time coming.
  const [wanted, setRunNow] = useState<boolean>()
  const runNow = wanted ?? (!task && draft.mode === 'none')
  const [tried, setTried] = useState(false)

  const problem = error ? asProblem(error) : undefined
  const dayUsd = usd(day)
  const runUsd = usd(run)
  const maxBad = max.trim() !== '' && !/^[1-9]\d*$/.test(max.trim())
  const fuseBad = fuse.trim() !== '' && !/^[1-9]\d*$/.test(fuse.trim())
  const once = draft.mode === 'none' || draft.mode === 'once'
  const fields = ['instruction', 'name', 'automation', 'startAt', 'assigneeAgent', 'labels', 'maxTopics', 'config.budget', 'config.acceptance', 'config.concurrencyKey', 'config.failureFuse']

  const submit = () => {
    setTried(true)
    const planned = plannedBy(draft, zone, Date.now())
    if (instruction.trim() === '' || 'error' in planned || dayUsd === 'bad' || runUsd === 'bad' || maxBad || fuseBad) {
      requestAnimationFrame(() => document.querySelector<HTMLElement>('form [aria-invalid=true]')?.focus())
      return
    }
    onSubmit({
      instruction: instruction.trim(),
      name: name.trim(),
      ...planned,
      assigneeAgent: agent,
      priority,
      labels: [...new Set(labels.split(/[,\uff0c]/).map((l) => l.trim()).filter(Boolean))],
      acceptance: once ? acceptance : '',
      budgetDay: dayUsd,
      budgetRun: runUsd,
      concurrencyKey: key.trim(),
      failureFuse: fuse.trim() === '' ? null : Number(fuse),
      maxTopics: max.trim() === '' ? null : Number(max),
      runNow: runNow && draft.mode !== 'once' && !task,
    })
  }

  return (
    <form className={styles.form} noValidate onSubmit={(e) => { e.preventDefault(); submit() }}>
      <Panel>
        <div className={styles.stack}>
          <Field label={t.form.instruction} hint={t.form.instructionHint} error={problem?.field('instruction') ?? (tried && instruction.trim() === '' ? t.form.instructionNeeded : undefined)}>
            {(w) => <TextArea {...w} rows={5} className={styles.instruction} maxLength={100_000} autoFocus={!task} placeholder={t.form.instructionPlaceholder} value={instruction} onChange={(e) => setInstruction(e.target.value)} />}
          </Field>
          <Field label={t.form.name} optional error={problem?.field('name')}>
            {(w) => <Input {...w} maxLength={200} placeholder={t.form.namePlaceholder} value={name} onChange={(e) => setName(e.target.value)} />}
          </Field>
        </div>
      </Panel>
      <Panel title={t.form.start}>
        <AutomationEditor draft={draft} onChange={setDraft} showErrors={tried} error={problem?.field('automation') ?? problem?.field('startAt')}>
          <Field label={p.rules.concurrencyKey} optional hint={p.rules.hints.concurrencyKey} error={problem?.field('config.concurrencyKey')}>
            {(w) => <Input {...w} maxLength={100} autoComplete="off" spellCheck={false} placeholder="crm" value={key} onChange={(e) => setKey(e.target.value)} />}
          </Field>
          <Field label={p.rules.fuse} optional hint={p.rules.hints.fuse} error={fuseBad && tried ? t.form.badInterval : problem?.field('config.failureFuse')}>
            {(w) => <Input {...w} inputMode="numeric" placeholder="3" value={fuse} onChange={(e) => setFuse(e.target.value)} />}
          </Field>
        </AutomationEditor>
      </Panel>
      {documents}
      <Panel>
        <Disclosure summary={t.form.more} open={!!task || problem?.covers(fields.slice(4)) === true}>
          <div className={styles.grid}>
            <Field label={t.form.agent} error={problem?.field('assigneeAgent')}>
              {(w) => <Select {...w} value={agent} options={[...(task ? [] : [['', t.form.agentDefault] as const]), ...agents.map((a) => [a.id, a.isDefault ? `${a.name} (${t.form.agentDefault})` : a.name] as const)]} onPick={setAgent} />}
            </Field>
            <Field label={t.form.priority}>
              {(w) => <Select {...w} value={priority} options={priorities.map((p) => [p, t.tasks.priority[p]] as const)} onPick={setPriority} />}
            </Field>
            <Field label={t.form.budgetDay} optional hint={t.form.budgetHint} error={dayUsd === 'bad' && tried ? t.form.budgetInvalid : problem?.field('config.budget.day')}>
              {(w) => <Input {...w} inputMode="decimal" value={day} onChange={(e) => setDay(e.target.value)} />}
            </Field>
            <Field label={t.form.budgetRun} optional error={runUsd === 'bad' && tried ? t.form.budgetInvalid : problem?.field('config.budget.operation')}>
              {(w) => <Input {...w} inputMode="decimal" value={run} onChange={(e) => setRun(e.target.value)} />}
            </Field>
            <Field label={t.form.maxTopics} optional error={maxBad && tried ? t.form.badInterval : problem?.field('maxTopics')}>
              {(w) => <Input {...w} inputMode="numeric" value={max} onChange={(e) => setMax(e.target.value)} />}
            </Field>
            <Field label={t.form.labels} optional hint={t.form.labelsHint} error={problem?.field('labels')}>
              {(w) => <Input {...w} value={labels} onChange={(e) => setLabels(e.target.value)} />}
            </Field>
            {once && (
              <Field label={t.form.acceptance} hint={t.form.acceptanceHint} error={problem?.field('config.acceptance')}>
                {(w) => <Select {...w} value={acceptance || 'review'} options={[['review', t.form.acceptances.review], ['auto', t.form.acceptances.auto]]} onPick={(v) => setAcceptance(v)} />}
              </Field>
            )}
          </div>
        </Disclosure>
      </Panel>
      {problem && !problem.covers(fields) && <Failure error={problem} />}
      <div className={styles.actions}>
        {!task && draft.mode !== 'once' && <Checkbox label={draft.mode === 'none' ? t.form.startNow : t.form.firstNow} checked={runNow} onChange={(e) => setRunNow(e.target.checked)} />}
        <span className={styles.push} />
        <Button look="quiet" onClick={onCancel}>{t.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>{task ? t.common.save : runNow && draft.mode !== 'once' ? t.form.submitRun : t.form.submitNew}</Button>
      </div>
    </form>
  )
}
