import { useQuery } from '@tanstack/react-query'
import { useLookAgain } from '@/api/due'
import { nextTasksQuery } from '@/api/tasks'
import { useLocale, useT } from '@/i18n'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Link } from '@/ui/Link'
import { rows } from '@/ui/Rows'
import { Bones, Nothing } from '@/ui/States'
import { useNow } from '@/ui/When'
import { startSentence } from './automation'
import { NextRun } from './TaskTable'

/** What comes next, with its time. */
export function UpNext({ limit }: { limit: number }) {
  const locale = useLocale()
  const t = useT()
  const query = useQuery(nextTasksQuery(limit))
  const now = useNow(60_000)
  useLookAgain(query.data?.find((task) => task.nextRunAt)?.nextRunAt, () => void query.refetch())
  return (
    <Answer query={query} bones={<Bones rows={4} height={38} />}>
      {(tasks) => {
        const planned = tasks.filter((task) => task.nextRunAt)
        if (planned.length === 0) return <Nothing>{t.today.nextEmpty}</Nothing>
        return (
          <ul className={rows.rows}>
            {planned.map((task) => (
              <li key={task.id} className={rows.row}>
                <div className={rows.line}>
                  <Link data-row className={rows.grow} to={to.task(task.identifier)}>{task.name}</Link>
                  <span><NextRun task={task} both /></span>
                </div>
                <div className={rows.meta}><span className={rows.ref}>{task.identifier}</span><span>{startSentence(locale, task, now)}</span></div>
              </li>
            ))}
          </ul>
        )
      }}
    </Answer>
  )
}
