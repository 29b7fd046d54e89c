import { useQuery } from '@tanstack/react-query'
import { versionsQuery } from '@/api/documents'
import type { Document } from '@/api/types'
import { useT } from '@/i18n'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Badge } from '@/ui/Badge'
import { Link } from '@/ui/Link'
import { rows } from '@/ui/Rows'
import { When } from '@/ui/When'
import { Author } from './DocumentList'

/** Earlier texts of a document, each one to look at. */
export function Versions({ doc, shown }: { doc: Document; shown: number }) {
  const t = useT()
  const query = useQuery(versionsQuery(doc.id))
  return (
    <Answer query={query}>
      {(versions) => (
        <ul className={rows.rows}>
          {versions.map((v) => (
            <li key={v.version} className={rows.row}>
              <div className={rows.line}>
                <Link className={rows.grow} to={to.document(doc.id, v.version === doc.version ? {} : { version: v.version })} aria-current={v.version === shown ? 'true' : undefined}>{t.documents.version(v.version)}</Link>
                {v.version === doc.version && <Badge>{t.documents.current}</Badge>}
              </div>
              <div className={rows.meta}><When at={v.createdAt} ago /><Author doc={v} /></div>
            </li>
          ))}
        </ul>
      )}
    </Answer>
  )
}
