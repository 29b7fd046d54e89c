import type { Brief } from '@/api/types'
import { useT } from '@/i18n'
import { to } from '@/places'
import { Badge } from '@/ui/Badge'
import { cx } from '@/ui/cx'
import { Icon } from '@/ui/Icon'
import { Link } from '@/ui/Link'
import { excerpt } from '@/ui/Markdown'
import { When } from '@/ui/When'
import styles from './BriefList.module.css'
import { resolvedWords, typeLook } from './looks'

/** Briefs in short, to pick one. */
export function BriefList({ briefs, selected, query }: { briefs: Brief[]; selected?: string; /** Filters to keep. */ query: { state?: string; type?: string } }) {
  const t = useT()
  return (
    <ul className={styles.list}>
      {briefs.map((brief) => {
        const look = typeLook[brief.type]
        const unread = !brief.readAt && !brief.resolvedAt
        return (
          <li key={brief.id}>
            <Link data-row to={to.brief(brief.number, query)} className={cx(styles.item, unread && styles.unread)} aria-current={brief.number === selected ? 'true' : undefined}>
              <span className={styles.icon}><Badge tone={look.tone} icon={look.icon} plain><span className="visually-hidden">{t.briefs.types[brief.type]}</span></Badge></span>
              <span className={styles.text}>
                <span className={styles.title}>{unread && <span className="visually-hidden">{t.briefs.unread}: </span>}{brief.title}</span>
                <span className={styles.excerpt}>{brief.resolvedAt ? <><Icon name="check" size={13} /> {resolvedWords(t, brief)}</> : excerpt(brief.summary, 120)}</span>
                <span className={styles.meta}>
                  <span>{brief.number}</span>
                  {brief.task && <span>{brief.task}</span>}
                  {brief.count > 1 && <span>{t.briefs.times(brief.count)}</span>}
                  {brief.priority === 'urgent' && <span className={styles.urgent}>{t.briefs.priorities.urgent}</span>}
                  <span className={styles.when}><When at={brief.createdAt} ago /></span>
                </span>
              </span>
            </Link>
          </li>
        )
      })}
    </ul>
  )
}
