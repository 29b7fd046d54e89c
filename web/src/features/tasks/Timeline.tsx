import { Fragment } from 'react'
import { lookup, useLocale } from '@/i18n'
import { duration, longDate, moment } from '@/i18n/format'
import { usePlanning } from '@/i18n/planning'
import { to } from '@/places'
import { Badge } from '@/ui/Badge'
import { Word } from '@/ui/Code'
import { cx } from '@/ui/cx'
import { Link } from '@/ui/Link'
import { useNow, When } from '@/ui/When'
import { startSentence, zoneOf } from './automation'
import { timeOf } from './fold'
import { lateMs, tickLook } from './looks'
import styles from './Timeline.module.css'
import type { Day, Entry, Past, Planned } from './timeline'

type Props = { days: Day[]; names: Record<string, string>; heldBy: (task: Planned['task']) => string | undefined }

/** Days with what is planned and what came of it, the newest first, and now in between. */
export function Timeline({ days, names, heldBy }: Props) {
  const { lang, zone } = useLocale()
  const now = useNow(30_000)
  // The first entry that is behind us: the line stands before it.
  const behind = days.flatMap((d) => d.entries).find((entry) => entry.kind === 'past' || Date.parse(entry.at) <= now)
  return (
    <div className={styles.timeline}>
      {days.map(({ day, at, entries }) => (
        <section key={day} aria-label={longDate(lang, zone, Date.parse(at))}>
          <h2 className={styles.day}>{longDate(lang, zone, Date.parse(at))}</h2>
          <ol>
            {entries.map((entry) => (
              <Fragment key={keyOf(entry)}>
                {entry === behind && <Now now={now} />}
                <li className={cx(styles.row, entry.kind === 'planned' && styles.planned)}>
                  {entry.kind === 'planned' ? <PlannedRow entry={entry} held={heldBy(entry.task)} /> : <PastRow entry={entry} name={names[entry.ticks[0]!.task]} />}
                </li>
              </Fragment>
            ))}
          </ol>
        </section>
      ))}
      {!behind && <ol><Now now={now} /></ol>}
    </div>
  )
}

const keyOf = (entry: Entry) => (entry.kind === 'planned' ? `${entry.task.id} ${entry.at}` : entry.ticks[0]!.id)

function Now({ now }: { now: number }) {
  const { lang, zone } = useLocale()
  const p = usePlanning()
  return <li className={styles.now}><span>{p.timeline.now} {moment(lang, zone, now, now)}</span></li>
}

const Clock = ({ at }: { at: string }) => {
  const { lang, zone } = useLocale()
  const time = Date.parse(at)
  return <time className={styles.clock} dateTime={at}>{moment(lang, zone, time, time)}</time>
}

function PlannedRow({ entry: { at, task, last }, held }: { entry: Planned; held: string | undefined }) {
  const locale = useLocale()
  const { t } = locale
  const p = usePlanning()
  const now = useNow(30_000)
  const sentence = startSentence(locale, task, now)
  return (
    <>
      <Clock at={at} />
      <span className={styles.state}><Badge tone="info" icon="clock" plain>{p.timeline.upcoming}</Badge></span>
      <div className={styles.what}>
        <Link data-row to={to.task(task.identifier)} className={styles.name}>{task.name}</Link>
        <span className={styles.meta}>
          <span className={styles.ref}>{task.identifier}</span>
          <span>{last && task.automation ? p.timeline.goesOn(sentence) : sentence}</span>
          {held && <span className={styles.held}>{p.timeline.held}: {lookup(t.reasons, held)} <Word>{held}</Word></span>}
        </span>
      </div>
      <span className={styles.side}><When at={at} zone={zoneOf(task)} ago /></span>
    </>
  )
}

function PastRow({ entry: { ticks }, name }: { entry: Past; name?: string }) {
  const { t, lang } = useLocale()
  const [newest, oldest] = [ticks[0]!, ticks.at(-1)!]
  const look = tickLook[newest.state]
  const count = ticks.reduce((sum, tick) => sum + tick.count, 0)
  const lag = newest.lagMs ?? 0
  return (
    <>
      <span className={styles.clocks}>
        <Clock at={timeOf(newest)} />
        {oldest !== newest && <>–<Clock at={timeOf(oldest)} /></>}
      </span>
      <span className={styles.state}><Badge tone={look.tone} icon={look.icon} moving={look.moving} plain>{t.tasks.tick[newest.state]}</Badge></span>
      <div className={styles.what}>
        <Link data-row to={to.task(newest.task)} className={styles.name}>{name ?? newest.task}</Link>
        <span className={styles.meta}>
          {name && <span className={styles.ref}>{newest.task}</span>}
          <span>{t.tasks.origin[newest.origin] ?? newest.origin}</span>
          {count > 1 && <span>{t.tasks.tickCount(count)}</span>}
          {newest.reason && <span>{lookup(t.reasons, newest.reason)} <Word>{newest.reason}</Word></span>}
          {newest.note && <span>{newest.note}</span>}
          {newest.late ? <Badge tone="warn" icon="clock">{t.tasks.late(duration(lang, lag / 1000, 'narrow'))}</Badge> : lag >= lateMs && <span>{t.tasks.late(duration(lang, lag / 1000, 'narrow'))}</span>}
        </span>
      </div>
      <span className={styles.side}>{newest.topicId && <Link to={to.topic(newest.topicId)}>{t.topics.openRun}<span className="visually-hidden"> {name ?? newest.task}</span></Link>}</span>
    </>
  )
}
