import { useInfiniteQuery } from '@tanstack/react-query'
import { itemsOf } from '@/api/paging'
import { taskTicksQuery } from '@/api/tasks'
import type { Tick } from '@/api/types'
import { lookup, useLocale } from '@/i18n'
import { duration } from '@/i18n/format'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Badge } from '@/ui/Badge'
import { Word } from '@/ui/Code'
import { Link } from '@/ui/Link'
import { Disclosure } from '@/ui/Disclosure'
import { More, rows } from '@/ui/Rows'
import { Nothing } from '@/ui/States'
import { When } from '@/ui/When'
import { folded, timeOf } from './fold'
import { lateMs, tickLook } from './looks'

/** Every time a task was due, and what came of it. */
export function Ledger({ task, zone }: { task: string; zone?: string }) {
  const { t } = useLocale()
  const query = useInfiniteQuery(taskTicksQuery(task))
  return (
    <Answer query={query}>
      {(data) => {
        const ticks = itemsOf(data)
        if (ticks.length === 0) return <Nothing>{t.tasks.ledgerEmpty}</Nothing>
        return (
          <>
            <ul className={rows.rows}>{folded(ticks).map((group) => <li key={group[0]!.id} className={rows.row}><Group ticks={group} zone={zone} /></li>)}</ul>
            <More query={query} />
          </>
        )
      }}
    </Answer>
  )
}

/** Times in a row that came to nothing for the same reason, told once. */
function Group({ ticks, zone }: { ticks: Tick[]; zone?: string }) {
  const { t } = useLocale()
  const [newest, oldest] = [ticks[0]!, ticks.at(-1)!]
  if (newest === oldest) return <TickLine tick={newest} zone={zone} />
  const look = tickLook[newest.state]
  return (
    <>
      <div className={rows.line}>
        <Badge tone={look.tone} icon={look.icon} plain>{t.tasks.tick[newest.state]}</Badge>
        <span className={rows.grow}><When at={timeOf(oldest)} zone={zone} /> – <When at={timeOf(newest)} zone={zone} /></span>
      </div>
      <div className={rows.meta}><span>{lookup(t.reasons, newest.reason)} {newest.reason && <Word>{newest.reason}</Word>}</span></div>
      <Disclosure summary={t.tasks.tickCount(ticks.reduce((sum, tick) => sum + tick.count, 0))}>
        <ul className={rows.meta}>{ticks.map((tick) => <li key={tick.id}><When at={timeOf(tick)} zone={zone} seconds /></li>)}</ul>
      </Disclosure>
    </>
  )
}

function TickLine({ tick, zone }: { tick: Tick; zone?: string }) {
  const { t, lang } = useLocale()
  const look = tickLook[tick.state]
  const sentence = lookup(t.reasons, tick.reason)
  return (
    <>
      <div className={rows.line}>
        <Badge tone={look.tone} icon={look.icon} moving={look.moving} plain>{t.tasks.tick[tick.state]}</Badge>
        <span className={rows.grow}><When at={timeOf(tick)} zone={zone} seconds /></span>
        {tick.topicId && <Link to={to.topic(tick.topicId)}>{t.topics.openRun}</Link>}
      </div>
      <div className={rows.meta}>
        <span>{t.tasks.origin[tick.origin] ?? tick.origin}</span>
        {tick.count > 1 && <span>{t.tasks.tickCount(tick.count)}</span>}
        {tick.reason && <span>{sentence} <Word>{tick.reason}</Word></span>}
        {(tick.lagMs ?? 0) >= lateMs && <span>{t.tasks.late(duration(lang, tick.lagMs! / 1000, 'narrow'))}</span>}
      </div>
    </>
  )
}
