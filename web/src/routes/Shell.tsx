import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, Suspense, useEffect, useState } from 'react'
import { Redirect, useLocation, useSearch } from 'wouter'
import { waitingQuery } from '@/api/briefs'
import { live, useLiveState } from '@/api/live'
import { meQuery, signOut } from '@/api/session'
import { pollMs } from '@/api/stream'
import type { Me } from '@/api/types'
import { HoldBanner } from '@/features/workspace/HoldBanner'
import { useT } from '@/i18n'
import { to } from '@/places'
import { Button, buttonClass, IconButton } from '@/ui/Button'
import { cx } from '@/ui/cx'
import { Icon, type IconName } from '@/ui/Icon'
import { focusSearch, moveRow, useShortcuts } from '@/ui/keyboard'
import { Link } from '@/ui/Link'
import { useTabCount } from '@/ui/Page'
import { Bones, Failure, Notice } from '@/ui/States'
import { setTheme, type Theme, themes, useTheme } from '@/ui/theme'
import { toastProblem } from '@/ui/Toasts'
import { Help } from './Help'
import { mayOperate, MeContext } from './me'
import styles from './Shell.module.css'

const places = [
  { to: to.today(), name: 'today', icon: 'sun', key: 'h' },
  { to: to.inbox(), name: 'inbox', icon: 'inbox', key: 'i' },
  { to: to.tasks(), name: 'tasks', icon: 'list', key: 't' },
  { to: to.schedule(), name: 'schedule', icon: 'calendar', key: 'c' },
  { to: to.documents(), name: 'documents', icon: 'file', key: 'd' },
  { to: to.settings(), name: 'settings', icon: 'gear', key: 's' },
] as const satisfies { to: string; name: string; icon: IconName; key: string }[]

/** The frame of every signed-in page. */
export function Shell({ children }: { children: ReactNode }) {
  const query = useQuery(meQuery)
  const [path] = useLocation()
  const search = useSearch()
  if (query.data === undefined) {
    return <div className={styles.alone}>{query.error ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Bones rows={3} />}</div>
  }
  if (query.data === null) return <Redirect to={to.signIn(path === '/' && !search ? undefined : path + (search && `?${search}`))} replace />
  return <Frame me={query.data}>{children}</Frame>
}

function Frame({ me, children }: { me: Me; children: ReactNode }) {
  const t = useT()
  const [, go] = useLocation()
  const [help, setHelp] = useState(false)
  const waiting = useQuery(waitingQuery).data
  const badge = waiting && waiting.count > 0 ? `${waiting.count}${waiting.more ? '+' : ''}` : undefined
  useTabCount(waiting?.count ?? 0)
  useEffect(() => live.start(), [])
  useShortcuts({
    ...Object.fromEntries(places.map((p) => [`g ${p.key}`, () => go(p.to)])),
    ...(mayOperate(me) ? { n: () => go(to.newTask()) } : {}),
    j: () => moveRow(1),
    k: () => moveRow(-1),
    '/': focusSearch,
    '?': () => setHelp(true),
  })

  return (
    <MeContext value={me}>
      <a href="#content" className={styles.skip}>{t.app.skip}</a>
      <div className={styles.frame}>
        <header className={styles.side}>
          <Link to={to.today()} className={styles.brand}><img src="/favicon.svg" alt="" width={28} height={28} /><span>{t.app.name}</span></Link>
          <nav className={styles.nav} aria-label={t.app.nav}>
            {places.map((p) => (
              <Link key={p.to} to={p.to} here={p.name === 'today' ? 'exact' : 'below'} className={styles.place}>
                <Icon name={p.icon} size={20} />
                <span className={styles.placeName}>{t.app[p.name]}</span>
                {p.name === 'inbox' && badge && <span className={cx(styles.badge, waiting!.decisions > 0 && styles.decide)} aria-label={t.app.waiting(badge)}>{badge}</span>}
              </Link>
            ))}
          </nav>
          {mayOperate(me) && <Link to={to.newTask()} className={cx(buttonClass({ look: 'primary' }), styles.create)} title={`${t.app.newTask} (n)`} aria-label={t.app.newTask}><Icon name="plus" /><span>{t.app.newTask}</span></Link>}
          <div className={styles.foot}>
            <LiveSign />
            <ThemeButton />
            <IconButton small icon="question" label={`${t.keys.title} (?)`} onClick={() => setHelp(true)} className={styles.helpButton} />
            <SignOut />
          </div>
        </header>
        <main id="content" tabIndex={-1} className={styles.main}>
          <Down />
          <div className={styles.banner}><HoldBanner me={me} /></div>
          <Suspense fallback={<Bones rows={4} height={56} />}>{children}</Suspense>
        </main>
      </div>
      {help && <Help places={places.map((p) => ({ name: t.app[p.name], key: p.key }))} onClose={() => setHelp(false)} />}
    </MeContext>
  )
}

function LiveSign() {
  const t = useT()
  const state = useLiveState()
  return (
    <span className={cx(styles.live, state === 'live' && styles.isLive, state === 'down' && styles.isDown)} role="status" title={t.live[state]}>
      <span className={styles.dot} />
      <span className={styles.liveWord}>{t.live[state]}</span>
    </span>
  )
}

/** Says that what is shown may be old. */
function Down() {
  const t = useT()
  const state = useLiveState()
  if (state !== 'down') return null
  return (
    <div className={styles.down}>
      <Notice tone="warn" icon="alert" action={<Button small icon="refresh" onClick={() => live.reconnect()}>{t.live.retry}</Button>}>{t.live.downHint(pollMs / 1000)}</Notice>
    </div>
  )
}

const themeIcons: Record<Theme, IconName> = { system: 'screen', light: 'sun', dark: 'moon' }

function ThemeButton() {
  const t = useT()
  const theme = useTheme()
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!
  return <IconButton small icon={themeIcons[theme]} label={`${t.app.theme.label}: ${t.app.theme[theme]}`} onClick={() => setTheme(next)} />
}

function SignOut() {
  const t = useT()
  const client = useQueryClient()
  const [, go] = useLocation()
  const leave = async () => {
    try {
      await signOut()
    } catch (error) {
      toastProblem(t, error)
      return
    }
    live.end()
    client.setQueryData(meQuery.queryKey, null)
    go(to.signIn())
  }
  return <IconButton small icon="out" label={t.app.signOut} onClick={() => void leave()} />
}
