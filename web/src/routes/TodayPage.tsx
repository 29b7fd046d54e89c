import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { briefsQuery, waitingQuery } from '@/api/briefs'
import { keys } from '@/api/keys'
import { itemsOf } from '@/api/paging'
import { lostTicksSinceQuery, operationsSinceQuery } from '@/api/runs'
import { updateMe } from '@/api/session'
import { anyTaskQuery, nextTasksQuery } from '@/api/tasks'
import type { Brief } from '@/api/types'
import { BriefCard } from '@/features/briefs/BriefCard'
import { UpNext } from '@/features/tasks/UpNext'
import { ended, failed, LostTimes, OperationLines, running, Spend } from '@/features/topics/Report'
import { useLocale } from '@/i18n'
import { browserZone, hourIn, longDate, sameClock } from '@/i18n/format'
import { integerOf, to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Button, buttonClass } from '@/ui/Button'
import { CopyLine } from '@/ui/Code'
import { Icon } from '@/ui/Icon'
import { Link } from '@/ui/Link'
import { Column, Columns, Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { RowItem, Rows } from '@/ui/Rows'
import { Segments } from '@/ui/Segments'
import { Bones, Empty, Notice } from '@/ui/States'
import { toastProblem } from '@/ui/Toasts'
import { useNow } from '@/ui/When'
import { mayOperate, useMe } from './me'

const windows = [8, 24, 72, 168]
const minuteMs = 60_000
const shownNext = 8

/** The shift report: what needs a decision, what happened, what failed, what comes next. */
export function TodayPage() {
  const { t, lang, zone } = useLocale()
  const me = useMe()
  const [, go] = useLocation()
  const asked = integerOf(useSearch(), 'hours')
  const hours = windows.find((w) => w === asked) ?? 24
  const now = useNow(10 * minuteMs)
  // The window's start moves in steps, so that the queries keep their keys for a while.
  const since = useMemo(() => new Date(now - hours * 3_600_000).toISOString(), [now, hours])
  const operations = useQuery({ ...operationsSinceQuery(since), placeholderData: (old) => old })
  const lost = useQuery({ ...lostTicksSinceQuery(since), placeholderData: (old) => old })
  // The report is shown as a whole: parts that come one by one push each other down.
  const parts = [operations, lost, useInfiniteQuery(briefsQuery({ state: 'unresolved' })), useQuery(nextTasksQuery(shownNext))]
  const waits = parts.some((part) => part.isPending)
  const hour = hourIn(zone, Date.now())
  const greeting = hour < 5 ? t.today.night : hour < 12 ? t.today.morning : hour < 18 ? t.today.afternoon : t.today.evening

  return (
    <Page
      title={`${greeting}, ${me.person.name}`}
      tab={t.app.today}
      over={longDate(lang, zone, Date.now())}
      actions={
        <Segments label={t.today.window} value={String(hours)} options={windows.map((w) => [String(w), w % 24 === 0 && w > 24 ? t.today.days(w / 24) : t.today.hours(w)] as const)} onPick={(w) => go(to.today(w === '24' ? {} : { hours: Number(w) }))} />
      }
    >
      <ZoneHint />
      <First />
      {waits ? <Panel><Bones rows={8} height={56} /></Panel> : <Columns>
        <Column>
          <Decide mayResolve={mayOperate(me)} />
          <Answer query={operations} bones={<Panel title={t.today.happened}><Bones rows={5} height={44} /></Panel>}>
            {({ items }) => {
              const now = running(items)
              return (
                <>
                  {now.length > 0 && <Panel flush title={t.today.running} count={now.length}><OperationLines operations={now} limit={10} empty="" /></Panel>}
                  <Panel flush title={t.today.happened} count={ended(items).length || undefined}><OperationLines operations={ended(items)} limit={12} empty={t.today.happenedEmpty} /></Panel>
                </>
              )
            }}
          </Answer>
        </Column>
        <Column>
          <Panel flush title={t.today.next}><UpNext limit={shownNext} /></Panel>
          <Panel title={t.today.spend}><Answer query={operations} bones={<Bones rows={1} height={64} />}>{({ items, whole }) => <Spend operations={items} whole={whole} />}</Answer></Panel>
          <Panel flush title={t.today.failed}><Answer query={operations} bones={<Bones rows={1} />}>{({ items }) => <OperationLines operations={failed(items)} limit={8} empty={t.today.failedEmpty} />}</Answer></Panel>
          <Panel flush title={t.today.lost} hint={t.today.lostHint}><Answer query={lost} bones={<Bones rows={1} />}>{({ items }) => <LostTimes ticks={items} />}</Answer></Panel>
        </Column>
      </Columns>}
    </Page>
  )
}

const order = { decision: 0, error: 1, result: 2, insight: 3 } satisfies Record<Brief['type'], number>
const shownBriefs = 4

function Decide({ mayResolve }: { mayResolve: boolean }) {
  const { t } = useLocale()
  const query = useInfiniteQuery(briefsQuery({ state: 'unresolved' }))
  const waiting = useQuery(waitingQuery).data
  return (
    <Panel flush title={t.today.decide} count={waiting?.count || undefined} aside={waiting && waiting.count > shownBriefs ? <Link to={to.inbox()}>{t.today.allInInbox(waiting.count)}</Link> : undefined}>
      <Answer query={query} bones={<Bones rows={2} height={120} />}>
        {(data) => {
          const briefs = [...itemsOf(data)].sort((a, b) => order[a.type] - order[b.type] || b.createdAt.localeCompare(a.createdAt))
          if (briefs.length === 0) return <Empty icon="check" title={t.today.decideEmpty} />
          return <Rows label={t.today.decide}>{briefs.slice(0, shownBriefs).map((brief) => <RowItem key={brief.id}><BriefCard brief={brief} compact mayResolve={mayResolve} /></RowItem>)}</Rows>
        }}
      </Answer>
    </Panel>
  )
}

/** The next step for somebody who has just arrived. */
function First() {
  const { t } = useLocale()
  // Unknown is no reason to greet a newcomer.
  if (useQuery(anyTaskQuery).data !== false) return null
  return (
    <Panel>
      <Empty icon="sun" title={t.today.firstTitle} hint={t.today.firstHint}>
        <Link to={to.newTask()} className={buttonClass({ look: 'primary' })}><Icon name="plus" /><span>{t.today.firstAction}</span></Link>
        <span>{t.today.demoHint}</span> <CopyLine text="bin/dogwatch demo" />
      </Empty>
    </Panel>
  )
}

const hintKey = 'dogwatch.zone-kept'

/** Asks once when the profile's clock is not the browser's. */
function ZoneHint() {
  const { t, zone } = useLocale()
  const client = useQueryClient()
  const here = browserZone()
  const [kept, setKept] = useState(() => localStorage.getItem(hintKey) === `${here} ${zone}`)
  const use = useMutation({
    mutationFn: () => updateMe({ timezone: here }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.me }),
    onError: (error) => toastProblem(t, error),
  })
  if (kept || sameClock(here, zone, Date.now())) return null
  const keep = () => {
    localStorage.setItem(hintKey, `${here} ${zone}`)
    setKept(true)
  }
  return (
    <Notice tone="info" icon="clock" action={<><Button small busy={use.isPending} onClick={() => use.mutate()}>{t.today.zoneUse(here)}</Button><Button small look="quiet" onClick={keep}>{t.today.zoneKeep(zone)}</Button></>}>
      {t.today.zoneHint(here, zone)}
    </Notice>
  )
}
