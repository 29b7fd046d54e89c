import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useLocation, useSearch } from 'wouter'
import { briefQuery, briefsQuery } from '@/api/briefs'
import { itemsOf } from '@/api/paging'
import { BriefCard, useMarkRead } from '@/features/briefs/BriefCard'
import { BriefList } from '@/features/briefs/BriefList'
import { useT } from '@/i18n'
import { to, wordsOf } from '@/places'
import { Answer } from '@/ui/Answer'
import { buttonClass } from '@/ui/Button'
import { cx } from '@/ui/cx'
import { Select } from '@/ui/Field'
import { Icon } from '@/ui/Icon'
import { useShortcuts } from '@/ui/keyboard'
import { Link } from '@/ui/Link'
import { Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { More } from '@/ui/Rows'
import { Segments } from '@/ui/Segments'
import { Bones, Empty } from '@/ui/States'
import styles from './InboxPage.module.css'
import { mayOperate, useMe } from './me'

const states = ['unresolved', 'resolved', 'all'] as const
const types = ['decision', 'error', 'result', 'insight'] as const

export function InboxPage({ brief }: { brief?: string }) {
  const t = useT()
  const [, go] = useLocation()
  const search = wordsOf(useSearch(), 'state', 'type')
  const state = states.find((s) => s === search.state) ?? 'unresolved'
  const type = types.find((s) => s === search.type) ?? ''
  const query = useInfiniteQuery({ ...briefsQuery({ state, type: type || undefined }), placeholderData: (old) => old })
  // Enter opens a brief, a leads to its buttons, Escape back to its row.
  useShortcuts(brief ? {
    a: () => document.querySelector<HTMLElement>('[data-actions] button')?.focus(),
    Escape: () => {
      go(to.inbox(search))
      requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-row][href^="${to.brief(brief)}"]`)?.focus())
    },
  } : {})
  const filter = (next: { state: string; type: string }) => go(to.inbox({ state: next.state === 'unresolved' ? undefined : next.state, type: next.type }))

  return (
    <Page
      title={t.briefs.title}
      actions={
        <>
          <Segments label={t.briefs.title} value={state} options={states.map((s) => [s, t.briefs.state[s]] as const)} onPick={(s) => filter({ state: s, type })} />
          <Select small className={styles.type} aria-label={t.briefs.filterType} value={type} options={[['', t.common.all], ...types.map((s) => [s, t.briefs.types[s]] as const)]} onPick={(s) => filter({ state, type: s })} />
        </>
      }
    >
      <div className={cx(styles.split, brief && styles.reading)}>
        <div className={styles.list}>
          <Panel flush old={query.isPlaceholderData}>
            <Answer query={query} bones={<Bones rows={5} height={64} />}>
              {(data) => {
                const briefs = itemsOf(data)
                if (briefs.length === 0) return type ? <Empty icon="inbox" title={t.briefs.emptyFiltered} /> : state === 'resolved' ? <Empty icon="inbox" title={t.briefs.emptyResolved} /> : <Empty icon="inbox" title={t.briefs.emptyTitle} hint={t.briefs.emptyHint} />
                return <><BriefList briefs={briefs} selected={brief?.toUpperCase()} query={search} /><More query={query} /></>
              }}
            </Answer>
          </Panel>
        </div>
        <div className={styles.detail}>{brief ? <Reading key={brief} brief={brief} query={search} /> : <div className={styles.pick}>{t.briefs.pick}</div>}</div>
      </div>
    </Page>
  )
}

function Reading({ brief, query: filters }: { brief: string; query: { state?: string; type?: string } }) {
  const t = useT()
  const me = useMe()
  const query = useQuery(briefQuery(brief))
  useMarkRead(mayOperate(me) ? query.data : undefined)
  return (
    <>
      <Link to={to.inbox(filters)} className={cx(buttonClass({ look: 'quiet', small: true }), styles.back)}><Icon name="back" size={16} /><span>{t.common.back}</span></Link>
      <Panel>
        <Answer query={query} bones={<Bones rows={4} height={36} />}>{(data) => <BriefCard brief={data} mayResolve={mayOperate(me)} />}</Answer>
      </Panel>
    </>
  )
}
