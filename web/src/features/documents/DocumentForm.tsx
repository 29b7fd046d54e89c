import { useState } from 'react'
import { asProblem } from '@/api/problem'
import type { Document } from '@/api/types'
import { useT } from '@/i18n'
import { Button } from '@/ui/Button'
import { Field, Input, Select, TextArea } from '@/ui/Field'
import { Panel } from '@/ui/Panel'
import { Segments } from '@/ui/Segments'
import { Failure } from '@/ui/States'
import { DocumentView } from './DocumentView'
import styles from './DocumentForm.module.css'

export type DocumentValues = { title: string; folder: string; kind: Document['kind']; content: string }

type Props = { doc?: Document; busy: boolean; error: unknown; onSubmit: (values: DocumentValues) => void; onCancel: () => void }

const kinds: Document['kind'][] = ['markdown', 'text', 'csv', 'json', 'html']

export function DocumentForm({ doc, busy, error, onSubmit, onCancel }: Props) {
  const t = useT()
  const [title, setTitle] = useState(doc?.title ?? '')
  const [folder, setFolder] = useState(doc?.folder ?? '')
  const [kind, setKind] = useState<Document['kind']>(doc?.kind ?? 'markdown')
  const [content, setContent] = useState(doc?.content ?? '')
  const [mode, setMode] = useState<'write' | 'preview'>('write')
  const [tried, setTried] = useState(false)
  const problem = error ? asProblem(error) : undefined
  return (
    <form
      className={styles.form}
      noValidate
      onSubmit={(e) => {
        e.preventDefault()
        setTried(true)
        if (title.trim()) onSubmit({ title: title.trim(), folder: folder.trim(), kind, content })
      }}
    >
      <Panel>
        <div className={styles.fields}>
          <Field label={t.documents.name} className={styles.wide} error={problem?.field('title') ?? (tried && !title.trim() ? t.documents.nameNeeded : undefined)}>
            {(w) => <Input {...w} autoFocus={!doc} maxLength={300} value={title} onChange={(e) => setTitle(e.target.value)} />}
          </Field>
          <Field label={t.documents.folder} optional error={problem?.field('folder')}>{(w) => <Input {...w} maxLength={500} value={folder} onChange={(e) => setFolder(e.target.value)} />}</Field>
          {!doc && <Field label={t.documents.kind}>{(w) => <Select {...w} value={kind} options={kinds.map((k) => [k, t.documents.kinds[k]] as const)} onPick={setKind} />}</Field>}
        </div>
        <div className={styles.bar}>
          <Segments label={t.documents.view} value={mode} options={[['write', t.documents.write], ['preview', t.documents.preview]]} onPick={setMode} />
        </div>
        {mode === 'write' ? (
          <Field label={<span className="visually-hidden">{t.documents.content}</span>} error={problem?.field('content')}>
            {(w) => <TextArea {...w} mono className={styles.text} value={content} onChange={(e) => setContent(e.target.value)} />}
          </Field>
        ) : (
          <div className={styles.preview}><DocumentView doc={{ kind, content }} /></div>
        )}
      </Panel>
      {problem && !problem.covers(['title', 'folder', 'content']) && <Failure error={problem} />}
      <div className={styles.actions}>
        <Button look="quiet" onClick={onCancel}>{t.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>{doc ? t.common.save : t.common.create}</Button>
      </div>
    </form>
  )
}
