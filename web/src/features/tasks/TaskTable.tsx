import type { Task } from '@/api/types'
import { lookup, useLocale } from '@/i18n'
import { count, money } from '@/i18n/format'
import { to } from '@/places'
import { Badge } from '@/ui/Badge'
import { cx } from '@/ui/cx'
import { Link } from '@/ui/Link'
import { useNow, When } from '@/ui/When'
import { startSentence, zoneOf } from './automation'
import { statusLook } from './looks'
import styles from './TaskTable.module.css'

export function StatusBadge({ task, plain }: { task: Pick<Task, 'status' | 'statusReason'>; plain?: boolean }) {
  const { t } = useLocale()
  const look = statusLook[task.status]
  return <Badge tone={look.tone} icon={look.icon} moving={look.moving} plain={plain} title={lookup(t.reasons, task.statusReason)}>{t.tasks.status[task.status]}</Badge>
}

export function NextRun({ task, both }: { task: Task; both?: boolean }) {
  const { t } = useLocale()
  const now = useNow(1000)
  if (!task.nextRunAt) return <span className={styles.faint}>{t.tasks.notPlanned}</span>
  if (Date.parse(task.nextRunAt) <= now) return <span>{t.common.due}</span>
  return <When at={task.nextRunAt} zone={zoneOf(task)} both={both} ago={!both} />
}

type Props = {
  tasks: Task[]
  /** The chosen ones by identifier; without `onPick` none can be chosen. */
  picked?: ReadonlySet<string>
  onPick?: (task: string, range: boolean) => void
  onPickAll?: (on: boolean) => void
}

/** Tasks as rows; on a phone each row folds into a card. */
export function TaskTable({ tasks, picked, onPick, onPickAll }: Props) {
  const locale = useLocale()
  const { t, lang } = locale
  const now = useNow(60_000)
  return (
    <div className={styles.table} role="table" aria-label={t.tasks.title}>
      <div className={cx(styles.head, onPick && styles.picking)} role="row">
        {onPick && <span role="columnheader"><input type="checkbox" aria-label={t.tasks.pickAll} checked={tasks.length > 0 && tasks.every((task) => picked?.has(task.identifier))} onChange={(e) => onPickAll?.(e.target.checked)} /></span>}
        {[t.tasks.columns.task, t.tasks.columns.status, t.tasks.columns.next, t.tasks.columns.last, t.tasks.columns.runs, t.tasks.columns.cost].map((c, i) => <span key={c} role="columnheader" className={i > 3 ? styles.number : undefined}>{c}</span>)}
      </div>
      {tasks.map((task) => (
        <div className={cx(styles.row, onPick && styles.picking, picked?.has(task.identifier) && styles.picked)} role="row" key={task.id} data-task={task.identifier}>
          {onPick && (
            <span role="cell" className={styles.pick}>
              <input type="checkbox" aria-label={t.tasks.pick(task.identifier)} checked={picked?.has(task.identifier) ?? false} onChange={(e) => onPick(task.identifier, (e.nativeEvent as MouseEvent).shiftKey)} />
            </span>
          )}
          <span role="cell" className={styles.name}>
            <Link data-row to={to.task(task.identifier)} className={styles.link}>{task.name}</Link>
            <span className={styles.under}>
              <span className={styles.ref}>{task.identifier}</span>
              <span>{startSentence(locale, task, now)}</span>
              {(task.priority === 'urgent' || task.priority === 'high') && <span className={styles.urgent}>{t.tasks.priority[task.priority]}</span>}
              {task.labels.map((label) => <span key={label} className={styles.label}>{label}</span>)}
            </span>
          </span>
          <span role="cell"><StatusBadge task={task} /></span>
          <span role="cell" data-label={t.tasks.columns.next}><NextRun task={task} /></span>
          <span role="cell" data-label={t.tasks.columns.last}>{task.lastRunAt ? <When at={task.lastRunAt} ago /> : <span className={styles.faint}>{t.tasks.never}</span>}</span>
          <span role="cell" className={styles.number} data-label={t.tasks.columns.runs}>{count(lang, task.totalTopics)}</span>
          <span role="cell" className={styles.number} data-label={t.tasks.columns.cost} title={task.costUsd === null ? t.common.unknownCost : undefined}>{money(lang, task.costUsd)}</span>
        </div>
      ))}
    </div>
  )
}
