import { useInfiniteQuery } from '@tanstack/react-query'
import { itemsOf } from '@/api/paging'
import { taskTopicsQuery } from '@/api/tasks'
import type { Topic } from '@/api/types'
import { lookup, useLocale } from '@/i18n'
import { money } from '@/i18n/format'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Word } from '@/ui/Code'
import { Link } from '@/ui/Link'
import { excerpt } from '@/ui/Markdown'
import { More, rows } from '@/ui/Rows'
import { Nothing } from '@/ui/States'
import { Took, When } from '@/ui/When'
import { LiveRun } from './LiveRun'
import { lastOperation } from './looks'
import styles from './RunList.module.css'
import { RunBadge } from './RunStatus'

/** The runs of a task, newest first: the open one as it happens, the others with what they left. */
export function RunList({ task }: { task: string }) {
  const { t } = useLocale()
  const query = useInfiniteQuery(taskTopicsQuery(task))
  return (
    <Answer query={query}>
      {(data) => {
        const topics = itemsOf(data)
        if (topics.length === 0) return <Nothing>{t.tasks.runsEmpty}</Nothing>
        return (
          <>
            <ul className={rows.rows}>{topics.map((topic) => <li key={topic.id} className={rows.row}><Run topic={topic} /></li>)}</ul>
            <More query={query} />
          </>
        )
      }}
    </Answer>
  )
}

function Run({ topic }: { topic: Topic }) {
  const { t, lang } = useLocale()
  const operation = lastOperation(topic)
  const reason = topic.reasonDetail ?? (topic.reason !== 'done' ? topic.reason : null)
  return (
    <div className={styles.run}>
      <div className={rows.line}>
        <Link data-row className={styles.title} to={to.topic(topic.id)}>
          {t.topics.run(topic.seq)}{topic.handoff && <>: {topic.handoff.title}</>}
        </Link>
        <RunBadge topic={topic} plain />
        <span className={styles.when}><When at={topic.startedAt} ago /></span>
      </div>
      {topic.status === 'running' && operation ? (
        <LiveRun operation={operation} />
      ) : (
        <>
          {topic.error && <p className={styles.error}>{topic.error}</p>}
          {topic.handoff ? <p className={styles.summary}>{excerpt(topic.handoff.summary, 260)}</p> : <p className={styles.faint}>{t.topics.handoffPending}</p>}
          {topic.handoff?.nextAction && <p className={styles.summary}><strong>{t.topics.nextAction}:</strong> {excerpt(topic.handoff.nextAction, 160)}</p>}
        </>
      )}
      <div className={rows.meta}>
        <span>{t.tasks.origin[topic.origin] ?? topic.origin}</span>
        {topic.completedAt && <span><Took from={topic.startedAt} to={topic.completedAt} /></span>}
        <span title={topic.costUsd === null ? t.common.unknownCost : undefined}>{money(lang, topic.costUsd)}</span>
        {reason && <span title={lookup(t.reasons, reason)}><Word>{reason}</Word></span>}
      </div>
    </div>
  )
}
