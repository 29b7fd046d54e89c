import { useEffect, useRef, useState } from 'react'
import type { TaskFilters } from '@/api/tasks'
import { useT } from '@/i18n'
import { Button } from '@/ui/Button'
import { Input, Select } from '@/ui/Field'
import styles from './Filters.module.css'
import { priorities, startModes, statuses } from './looks'

type Props = { filters: TaskFilters; onChange: (filters: TaskFilters) => void }

// Typing searches after a pause: each letter would be a query and a step in the history.
const typingMs = 250

export function Filters({ filters, onChange }: Props) {
  const t = useT()
  const [text, setText] = useState(filters.q ?? '')
  const sent = useRef(filters.q ?? '')
  useEffect(() => {
    if ((filters.q ?? '') !== sent.current) {
      sent.current = filters.q ?? ''
      setText(sent.current) // the address changed: back, or a link
    }
  }, [filters.q])
  useEffect(() => {
    const wanted = text.trim()
    if (wanted === sent.current) return
    const timer = window.setTimeout(() => {
      sent.current = wanted
      onChange({ ...filters, q: wanted || undefined })
    }, typingMs)
    return () => window.clearTimeout(timer)
  }, [text, filters, onChange])

  const any = Object.values(filters).some(Boolean)
  return (
    <form className={styles.filters} role="search" onSubmit={(e) => e.preventDefault()}>
      <Input data-search small type="search" className={styles.search} aria-label={t.common.search} placeholder={t.tasks.search} value={text} onChange={(e) => setText(e.target.value)} />
      <Select small aria-label={t.tasks.filterStatus} value={filters.status ?? ''} options={[['', t.tasks.anyStatus], ...statuses.map((s) => [s, t.tasks.status[s]] as const)]} onPick={(status) => onChange({ ...filters, status: status || undefined })} />
      <Select small aria-label={t.tasks.filterMode} value={filters.automation ?? ''} options={[['', t.tasks.anyMode], ...startModes.map((m) => [m, t.tasks.mode[m]] as const)]} onPick={(automation) => onChange({ ...filters, automation: automation || undefined })} />
      <Select small aria-label={t.tasks.filterPriority} value={filters.priority ?? ''} options={[['', t.tasks.anyPriority], ...priorities.map((p) => [p, t.tasks.priority[p]] as const)]} onPick={(priority) => onChange({ ...filters, priority: priority || undefined })} />
      {any && <Button small look="quiet" icon="x" onClick={() => { setText(''); sent.current = ''; onChange({}) }}>{t.common.clear}</Button>}
    </form>
  )
}
