import { useNameOf } from '@/api/names'
import type { Document } from '@/api/types'
import { useLocale } from '@/i18n'
import { bytes } from '@/i18n/format'
import { to } from '@/places'
import { Link } from '@/ui/Link'
import { rows } from '@/ui/Rows'
import { When } from '@/ui/When'

export function DocumentList({ documents }: { documents: Document[] }) {
  const { t, lang } = useLocale()
  return (
    <ul className={rows.rows}>
      {documents.map((doc) => (
        <li key={doc.id} className={rows.row}>
          <div className={rows.line}>
            <Link data-row className={rows.grow} to={to.document(doc.id)}><span className={rows.title}>{doc.title}</span></Link>
            <span className={rows.meta}><When at={doc.updatedAt} ago /></span>
          </div>
          {doc.snippet && <p className={rows.meta}>{doc.snippet}</p>}
          <div className={rows.meta}>
            {doc.folder && <span>{doc.folder}</span>}
            <span>{t.documents.kinds[doc.kind]}</span>
            <span>{bytes(lang, doc.size)}</span>
            <span>{t.documents.version(doc.version)}</span>
            <Author doc={doc} />
          </div>
        </li>
      ))}
    </ul>
  )
}

/** Who made a document: for an agent, in which run. */
export function Author({ doc }: { doc: Pick<Document, 'createdBy' | 'topicId'> }) {
  const { t } = useLocale()
  const nameOf = useNameOf()
  const who = t.common.by(nameOf(doc.createdBy) ?? t.actors[doc.createdBy.kind])
  return doc.topicId ? <Link to={to.topic(doc.topicId)}>{who} {t.documents.inRun}</Link> : <span>{who}</span>
}
