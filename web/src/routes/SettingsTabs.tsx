import { useT } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { to } from '@/places'
import { Link } from '@/ui/Link'
import { segmentClass, segmentsClass } from '@/ui/Segments'

const parts = [undefined, 'workspace', 'agents', 'calendars'] as const

/** Yours, and what everybody shares. */
export function SettingsTabs() {
  const t = useT()
  const p = usePlanning()
  return (
    <nav className={segmentsClass} aria-label={t.settings.title}>
      {parts.map((part) => <Link key={part ?? ''} to={to.settings(part)} here="exact" className={segmentClass}>{p.settings[part ?? 'own']}</Link>)}
    </nav>
  )
}
