import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { documentsQuery } from '@/api/documents'
import { itemsOf } from '@/api/paging'
import { DocumentList } from '@/features/documents/DocumentList'
import { Upload } from '@/features/documents/Upload'
import { useT } from '@/i18n'
import { to, wordsOf } from '@/places'
import { Answer } from '@/ui/Answer'
import { Button, buttonClass } from '@/ui/Button'
import { Input } from '@/ui/Field'
import { Icon } from '@/ui/Icon'
import { Link } from '@/ui/Link'
import { Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { More } from '@/ui/Rows'
import { Bones, Empty } from '@/ui/States'
import styles from './DocumentsPage.module.css'
import { mayOperate, useMe } from './me'

export function DocumentsPage() {
  const t = useT()
  const me = useMe()
  const [, go] = useLocation()
  const { q, folder } = wordsOf(useSearch(), 'q', 'folder')
  const [text, setText] = useState(q ?? '')
  const query = useInfiniteQuery({ ...documentsQuery({ q, folder }), placeholderData: (old) => old })
  // The folders there are, as far as the list has been read.
  const all = itemsOf(useInfiniteQuery(documentsQuery({})).data)
  const folders = [...new Set(all.map((d) => d.folder).filter(Boolean))].sort()
  const filter = (next: { q?: string; folder?: string }) => go(to.documents(next), { replace: true })
  useEffect(() => {
    const wanted = text.trim()
    if (wanted === (q ?? '')) return
    const timer = window.setTimeout(() => filter({ q: wanted, folder }), 250)
    return () => window.clearTimeout(timer)
  })
  const create = mayOperate(me) && <Link to={to.newDocument()} className={buttonClass({ look: 'primary' })}><Icon name="plus" /><span>{t.documents.new}</span></Link>
  return (
    <Page title={t.documents.title} actions={create}>
      <form role="search" className={styles.bar} onSubmit={(e) => e.preventDefault()}>
        <Input data-search small type="search" className={styles.search} aria-label={t.common.search} placeholder={t.documents.search} value={text} onChange={(e) => setText(e.target.value)} />
        {folders.length > 0 && (
          <div className={styles.folders} role="group" aria-label={t.documents.folder}>
            {['', ...folders].map((f) => <Button key={f} small look={(folder ?? '') === f ? 'plain' : 'quiet'} aria-pressed={(folder ?? '') === f} onClick={() => filter({ q, folder: f })}>{f || t.documents.folderAll}</Button>)}
          </div>
        )}
      </form>
      {mayOperate(me) && <Upload folder={folder ?? ''} />}
      <Panel flush old={query.isPlaceholderData}>
        <Answer query={query} bones={<Bones rows={6} height={46} />}>
          {(data) => {
            const documents = itemsOf(data)
            if (documents.length === 0) return q || folder ? <Empty icon="search" title={t.documents.emptyFiltered} /> : <Empty icon="file" title={t.documents.emptyTitle} hint={t.documents.emptyHint}>{create}</Empty>
            return <><DocumentList documents={documents} /><More query={query} /></>
          }}
        </Answer>
      </Panel>
    </Page>
  )
}
