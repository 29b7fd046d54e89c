import { useId, useState } from 'react'
import { lookup, useT } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { Button } from '@/ui/Button'
import { Input, Select } from '@/ui/Field'
import { tickLook } from './looks'
import styles from './Timeline.module.css'
import { tickReasons } from './timeline'

export type Outcome = keyof typeof tickLook | 'planned'
export type TimelineFilter = { state?: Outcome; reason?: string; task?: string }

export const outcomes = ['planned', ...Object.keys(tickLook)] as Outcome[]
export const isTaskRef = (text: string) => /^[a-z]+-\d+$/i.test(text)

type Props = { filter: TimelineFilter; names: Record<string, string>; onChange: (filter: TimelineFilter) => void }

export function TimelineFilters({ filter, names, onChange }: Props) {
  const t = useT()
  const p = usePlanning()
  const id = useId()
  const [task, setTask] = useState(filter.task ?? '')
  const [known, setKnown] = useState(filter.task)
  if (known !== filter.task) {
    setKnown(filter.task) // the address changed: back, or a link
    setTask(filter.task ?? '')
  }
  const write = (text: string) => {
    setTask(text)
    const ref = text.trim().toUpperCase()
    if (ref === '' || isTaskRef(ref)) {
      setKnown(ref || undefined)
      onChange({ ...filter, task: ref || undefined })
    }
  }
  return (
    <form className={styles.filters} role="search" onSubmit={(e) => e.preventDefault()}>
      <Select small aria-label={p.timeline.filterState} value={filter.state ?? ''} options={[['', p.timeline.anyState], ...outcomes.map((s) => [s, s === 'planned' ? p.timeline.upcoming : t.tasks.tick[s]] as const)]} onPick={(state) => onChange({ ...filter, state: state || undefined })} />
      <Select small aria-label={p.timeline.filterReason} value={filter.reason ?? ''} options={[['', p.timeline.anyReason], ...tickReasons.map((r) => [r, lookup(t.reasons, r) ?? r] as const)]} onPick={(reason) => onChange({ ...filter, reason: reason || undefined })} />
      <Input data-search small type="search" list={id} aria-label={p.timeline.filterTask} placeholder={p.timeline.taskPlaceholder} autoComplete="off" value={task} onChange={(e) => write(e.target.value)} />
      <datalist id={id}>{Object.entries(names).map(([ref, name]) => <option key={ref} value={ref}>{name}</option>)}</datalist>
      {Object.values(filter).some(Boolean) && <Button small look="quiet" icon="x" onClick={() => onChange({})}>{t.common.clear}</Button>}
    </form>
  )
}
