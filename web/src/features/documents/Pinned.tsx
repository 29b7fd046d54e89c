import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { documentsQuery } from '@/api/documents'
import { keys } from '@/api/keys'
import { itemsOf } from '@/api/paging'
import { pinDocument, pinnedQuery, unpinDocument } from '@/api/tasks'
import type { Document } from '@/api/types'
import { useLocale } from '@/i18n'
import { bytes } from '@/i18n/format'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Button, IconButton } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Checkbox, Input } from '@/ui/Field'
import { Link } from '@/ui/Link'
import { rows } from '@/ui/Rows'
import { Bones, Nothing } from '@/ui/States'
import { toastProblem } from '@/ui/Toasts'
import styles from './Pinned.module.css'

/** Finds documents and picks some. */
export function DocumentPicker({ picked, onToggle }: { picked: ReadonlySet<string>; onToggle: (doc: Document, on: boolean) => void }) {
  const { t, lang } = useLocale()
  const [q, setQ] = useState('')
  const query = useInfiniteQuery({ ...documentsQuery({ q: q.trim() || undefined }), placeholderData: (old) => old })
  return (
    <div className={styles.picker}>
      <Input small type="search" aria-label={t.form.documentsSearch} placeholder={t.form.documentsSearch} value={q} onChange={(e) => setQ(e.target.value)} onKeyDown={(e) => e.key === 'Enter' && e.preventDefault()} />
      <Answer query={query} bones={<Bones rows={3} height={22} />}>
        {(data) => {
          const documents = itemsOf(data)
          if (documents.length === 0) return <Nothing>{q ? t.documents.emptyFiltered : t.form.documentsEmpty}</Nothing>
          return (
            <ul className={styles.choices}>
              {documents.slice(0, 50).map((doc) => (
                <li key={doc.id}><Checkbox label={doc.title} hint={[doc.folder, bytes(lang, doc.size)].filter(Boolean).join(' · ')} checked={picked.has(doc.id)} onChange={(e) => onToggle(doc, e.target.checked)} /></li>
              ))}
            </ul>
          )
        }}
      </Answer>
    </div>
  )
}

const shownFirst = 8

/** The documents that are part of a task's every prompt. */
export function Pinned({ task, mayWrite }: { task: string; mayWrite: boolean }) {
  const { t, lang } = useLocale()
  const client = useQueryClient()
  const [open, setOpen] = useState(false)
  const [all, setAll] = useState(false)
  const query = useQuery(pinnedQuery(task))
  const change = useMutation({
    mutationFn: ({ doc, on }: { doc: string; on: boolean }) => (on ? pinDocument(task, doc) : unpinDocument(task, doc)),
    onError: (error) => toastProblem(t, error),
    onSettled: () => client.invalidateQueries({ queryKey: keys.taskPart(task, 'documents') }),
  })
  return (
    <>
      <Answer query={query} bones={<Bones rows={2} height={24} />}>
        {(documents) => (
          <>
            {documents.length === 0 && <Nothing>{t.documents.pinnedEmpty}</Nothing>}
            <ul className={rows.rows}>
              {documents.slice(0, all ? undefined : shownFirst).map((doc) => (
                <li key={doc.id} className={rows.row}>
                  <div className={styles.pinned}>
                    <Link to={to.document(doc.id)}>{doc.title}</Link>
                    <span className={rows.meta}>{bytes(lang, doc.size)}</span>
                    {mayWrite && <IconButton small icon="x" label={t.documents.unpin(doc.title)} disabled={change.isPending} onClick={() => change.mutate({ doc: doc.id, on: false })} />}
                  </div>
                </li>
              ))}
            </ul>
            {!all && documents.length > shownFirst && <div className={styles.add}><Button small look="quiet" onClick={() => setAll(true)}>{t.documents.showAll(documents.length)}</Button></div>}
            {mayWrite && <div className={styles.add}><Button small look="quiet" icon="pin" onClick={() => setOpen(true)}>{t.documents.pin}</Button></div>}
            {open && (
              <Dialog title={t.documents.pin} onClose={() => setOpen(false)} wide>
                <DocumentPicker picked={new Set(documents.map((d) => d.id))} onToggle={(doc, on) => change.mutate({ doc: doc.id, on })} />
              </Dialog>
            )}
          </>
        )}
      </Answer>
    </>
  )
}
