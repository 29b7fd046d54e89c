import { useQuery } from '@tanstack/react-query'
import { openRunsQuery, workspaceQuery } from '@/api/workspace'
import type { Me } from '@/api/types'
import { useT } from '@/i18n'
import { to } from '@/places'
import { buttonClass } from '@/ui/Button'
import { Link } from '@/ui/Link'
import { Notice } from '@/ui/States'
import { When } from '@/ui/When'

/** On every page while something holds the workspace: what, since when, who and why. */
export function HoldBanner({ me }: { me: Me }) {
  const t = useT()
  // What was read at sign-in stands in until the answer is there: nothing jumps.
  const workspace = useQuery(workspaceQuery).data ?? me.workspace
  const since = workspace.pausedAt ?? workspace.maintenanceAt
  const open = useQuery({ ...openRunsQuery, enabled: !!since }).data?.openRuns
  const holder = workspace.pausedAt ? workspace.pausedBy : workspace.maintenanceBy
  if (!since && !workspace.readOnly) return null
  const note = workspace.pausedAt ? workspace.pauseNote : workspace.maintenanceNote
  const who = holder && (holder.id === me.person.id ? t.actors.you : (holder.name ?? t.actors[holder.kind]))
  return (
    <aside aria-label={t.hold.label}>
      <Notice tone={since ? 'warn' : 'info'} icon={since ? 'pause' : 'alert'} action={<Link to={to.settings('workspace')} className={buttonClass({ small: true })}>{t.hold.manage}</Link>}>
        {since && (
          <>
            <strong>{workspace.pausedAt ? t.hold.paused : t.hold.maintenance}</strong>{' '}
            {open !== undefined && (open > 0 ? t.hold.open(open) : t.hold.drained)}{' '}
            {t.hold.since} <When at={since} both />{who && <> {t.common.by(who)}</>}{note && <>: “{note}”</>}{' '}
          </>
        )}
        {workspace.readOnly && <strong>{t.hold.readOnly}</strong>}
      </Notice>
    </aside>
  )
}
