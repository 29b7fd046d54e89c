import type { Document } from '@/api/types'
import { useLocale } from '@/i18n'
import { Code } from '@/ui/Code'
import { Markdown } from '@/ui/Markdown'
import styles from './DocumentView.module.css'
import { parseCsv } from './csv'

const shownRows = 500

/** A document as it is meant to be read. HTML is shown as its text: nothing of it runs. */
export function DocumentView({ doc }: { doc: Pick<Document, 'kind'> & { content: string } }) {
  const { t } = useLocale()
  if (doc.kind === 'markdown') return <Markdown text={doc.content} />
  if (doc.kind === 'csv') {
    const { rows, total } = parseCsv(doc.content, shownRows + 1)
    const [head, ...body] = rows
    if (!head) return null
    return (
      <>
        <div className={styles.scroll} tabIndex={0} role="region" aria-label={t.documents.kinds.csv}>
          <table className={styles.table}>
            <thead><tr>{head.map((cell, i) => <th key={i} scope="col">{cell}</th>)}</tr></thead>
            <tbody>{body.map((row, r) => <tr key={r}>{row.map((cell, i) => <td key={i}>{cell}</td>)}</tr>)}</tbody>
          </table>
        </div>
        {total > rows.length && <p className={styles.hint}>{t.documents.rows(body.length, total - 1)}</p>}
      </>
    )
  }
  return <Code text={doc.content} />
}
