import { useQuery } from '@tanstack/react-query'
import { topicQuery } from '@/api/runs'
import type { Operation, Tick } from '@/api/types'
import { lookup, useLocale } from '@/i18n'
import { count, money } from '@/i18n/format'
import { to } from '@/places'
import { Word } from '@/ui/Code'
import { Link } from '@/ui/Link'
import { excerpt } from '@/ui/Markdown'
import { rows } from '@/ui/Rows'
import { Bone, Nothing } from '@/ui/States'
import { Took, When } from '@/ui/When'
import { isOpen } from './looks'
import styles from './Report.module.css'
import { OperationBadge } from './RunStatus'

/** What a shift cost: the sum of what is known, and how much is not. */
export function spent(operations: Operation[]) {
  let usd = 0
  let unknown = 0
  let tokens = 0
  for (const o of operations) {
    if (o.costUsd === null || o.costUsd === undefined) unknown++
    else usd += o.costUsd
    tokens += o.usage.inputTokens + o.usage.outputTokens
  }
  return { usd, unknown, tokens, known: unknown < operations.length || operations.length === 0 }
}

export function Spend({ operations, whole }: { operations: Operation[]; whole: boolean }) {
  const { t, lang } = useLocale()
  const { usd, unknown, tokens, known } = spent(operations)
  return (
    <div className={styles.spend}>
      <strong title={known ? undefined : t.common.unknownCost}>{known ? money(lang, usd) : '–'}</strong>
      <span>{t.today.runs(operations.length)} · {t.today.tokens(count(lang, tokens))}</span>
      {unknown > 0 && <span>{t.common.ofWhich(unknown)}</span>}
      {!whole && <span>{t.today.partly}</span>}
    </div>
  )
}

export const ended = (operations: Operation[]) => operations.filter((o) => !isOpen(o))
export const running = (operations: Operation[]) => operations.filter(isOpen)
const failures = ['error']
export const failed = (operations: Operation[]) => operations.filter((o) => failures.includes(o.status) || o.reasonDetail === 'time_limit' || o.reasonDetail === 'stalled')

/** Operations in short, each leading to its run. */
export function OperationLines({ operations, empty, limit }: { operations: Operation[]; empty: string; limit: number }) {
  if (operations.length === 0) return <Nothing>{empty}</Nothing>
  return <ul className={rows.rows}>{operations.slice(0, limit).map((o) => <li key={o.id} className={rows.row}><OperationLine operation={o} /></li>)}</ul>
}

function OperationLine({ operation: o }: { operation: Operation }) {
  const { t, lang } = useLocale()
  // What the run came to stands in its handoff.
  const query = useQuery(topicQuery(o.topicId))
  const topic = query.data
  const handoff = topic?.operations.at(-1)?.id === o.id ? topic.handoff : undefined
  const reason = o.reasonDetail ?? (o.completionReason === 'done' ? null : o.completionReason)
  return (
    <>
      <div className={rows.line}>
        <Link data-row className={rows.grow} to={to.topic(o.topicId)}>{handoff?.title ?? (topic ? t.topics.run(topic.seq) : o.task)}</Link>
        <OperationBadge operation={o} plain />
      </div>
      {query.isPending ? <p className={styles.summary}><Bone height={34} /></p> : handoff && <p className={styles.summary}>{excerpt(handoff.summary, 200)}</p>}
      {o.error && <p className={styles.error}>{o.error}</p>}
      <div className={rows.meta}>
        <Link className={rows.ref} to={to.task(o.task)}>{o.task}</Link>
        {topic && <span>{t.topics.run(topic.seq)}</span>}
        <When at={o.completedAt ?? o.startedAt ?? o.createdAt} ago />
        <Took from={o.startedAt ?? o.createdAt} to={o.completedAt} />
        <span title={o.costUsd === null ? t.common.unknownCost : undefined}>{money(lang, o.costUsd)}</span>
        {reason && !o.error && <span title={lookup(t.reasons, reason)}><Word>{reason}</Word></span>}
      </div>
    </>
  )
}

/** Planned times that came to nothing, by reason and task. */
export function LostTimes({ ticks }: { ticks: Tick[] }) {
  const { t } = useLocale()
  const groups = new Map<string, { reason: string; state: Tick['state']; task: string; count: number; last: string }>()
  for (const tick of ticks) {
    const key = `${tick.state} ${tick.reason} ${tick.task}`
    const group = groups.get(key) ?? { reason: tick.reason ?? '', state: tick.state, task: tick.task, count: 0, last: '' }
    group.count += tick.count
    const at = tick.plannedAt ?? tick.createdAt
    if (at > group.last) group.last = at
    groups.set(key, group)
  }
  if (groups.size === 0) return <Nothing>{t.today.lostEmpty}</Nothing>
  return (
    <ul className={rows.rows}>
      {[...groups].sort(([, a], [, b]) => b.last.localeCompare(a.last)).map(([key, g]) => (
        <li key={key} className={rows.row}>
          <div className={rows.line}>
            <span className={rows.grow}>{lookup(t.reasons, g.reason) ?? g.reason}</span>
            <strong className={styles.count}>{t.tasks.tickCount(g.count)}</strong>
          </div>
          <div className={rows.meta}>
            <Link to={to.task(g.task)}>{g.task}</Link>
            <span>{t.tasks.tick[g.state]}</span>
            <Word>{g.reason}</Word>
            <When at={g.last} ago />
          </div>
        </li>
      ))}
    </ul>
  )
}
