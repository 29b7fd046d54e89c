import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { createDocument, deleteDocument, documentQuery, updateDocument, versionQuery } from '@/api/documents'
import type { Document } from '@/api/types'
import { DocumentForm, type DocumentValues } from '@/features/documents/DocumentForm'
import { Author } from '@/features/documents/DocumentList'
import { DocumentView } from '@/features/documents/DocumentView'
import { Versions } from '@/features/documents/Versions'
import { useLocale, useT } from '@/i18n'
import { bytes } from '@/i18n/format'
import { integerOf, to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Button, buttonClass, IconButton } from '@/ui/Button'
import { Confirm } from '@/ui/Dialog'
import { Icon } from '@/ui/Icon'
import { Link } from '@/ui/Link'
import { Column, Columns, Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { Facts } from '@/ui/Rows'
import { Bones, Notice } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import { When } from '@/ui/When'
import { mayOperate, useMe } from './me'

const bones = <Panel><Bones rows={6} height={44} /></Panel>

export function DocumentPage({ doc }: { doc: string }) {
  const query = useQuery(documentQuery(doc))
  return <Answer query={query} bones={bones}>{(data) => <View key={data.id} doc={data} />}</Answer>
}

function View({ doc }: { doc: Document }) {
  const { t, lang } = useLocale()
  const me = useMe()
  const client = useQueryClient()
  const [, go] = useLocation()
  const version = integerOf(useSearch(), 'version')
  const old = version !== undefined && version !== doc.version ? version : undefined
  const past = useQuery(versionQuery(doc.id, old))
  const restore = useMutation({
    mutationFn: (content: string) => updateDocument(doc.id, { content }, doc.version),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: documentQuery(doc.id).queryKey })
      go(to.document(doc.id))
    },
    onError: (error) => toastProblem(t, error),
  })
  return (
    <Page
      title={doc.title}
      over={<><Link to={to.documents()}>{t.documents.title}</Link>{doc.folder && <> · <Link to={to.documents({ folder: doc.folder })}>{doc.folder}</Link></>}</>}
      actions={
        mayOperate(me) && (
          <>
            <Link to={to.editDocument(doc.id)} className={buttonClass()}><Icon name="pencil" /><span>{t.common.edit}</span></Link>
            <Delete doc={doc.id} />
          </>
        )
      }
    >
      {old && (
        <Notice
          tone="info" icon="clock"
          action={
            <>
              <Link to={to.document(doc.id)} className={buttonClass({ small: true })}>{t.documents.toCurrent}</Link>
              {mayOperate(me) && past.data && <Button small look="quiet" busy={restore.isPending} onClick={() => restore.mutate(past.data.content ?? '')}>{t.documents.restore}</Button>}
            </>
          }
        >
          {t.documents.viewing(old)}
        </Notice>
      )}
      <Columns>
        <Column>
          <Panel>{old ? <Answer query={past}>{(v) => <DocumentView doc={{ kind: doc.kind, content: v.content ?? '' }} />}</Answer> : <DocumentView doc={{ kind: doc.kind, content: doc.content ?? '' }} />}</Panel>
        </Column>
        <Column>
          <Panel title={t.tasks.details}>
            <Facts items={[[t.documents.kind, t.documents.kinds[doc.kind]], [t.documents.size, bytes(lang, doc.size)], [t.documents.updated, <When key="u" at={doc.updatedAt} both />], [t.documents.madeBy, <Author key="a" doc={doc} />]]} />
          </Panel>
          <Panel flush title={t.documents.versions}><Versions doc={doc} shown={old ?? doc.version} /></Panel>
        </Column>
      </Columns>
    </Page>
  )
}

function Delete({ doc }: { doc: string }) {
  const t = useT()
  const client = useQueryClient()
  const [, go] = useLocation()
  const [asked, setAsked] = useState(false)
  const drop = useMutation({
    mutationFn: () => deleteDocument(doc),
    onSuccess: async () => {
      toast(t.documents.deleted)
      go(to.documents())
      client.removeQueries({ queryKey: documentQuery(doc).queryKey })
      await client.invalidateQueries({ queryKey: ['documents'] })
    },
    onError: (error) => {
      setAsked(false)
      toastProblem(t, error)
    },
  })
  return (
    <>
      <IconButton icon="trash" label={t.common.delete} onClick={() => setAsked(true)} />
      {asked && <Confirm danger title={t.documents.deleteTitle} text={t.documents.deleteHint} confirm={t.common.delete} busy={drop.isPending} onConfirm={() => drop.mutate()} onClose={() => setAsked(false)} />}
    </>
  )
}

export function NewDocumentPage() {
  const t = useT()
  const client = useQueryClient()
  const [, go] = useLocation()
  const create = useMutation({
    mutationFn: (values: DocumentValues) => createDocument(values),
    onSuccess: async (doc) => {
      void client.invalidateQueries({ queryKey: ['documents'] })
      go(to.document(doc.id), { replace: true })
    },
  })
  return (
    <Page title={t.documents.newTitle}>
      <DocumentForm busy={create.isPending} error={create.error} onSubmit={(values) => create.mutate(values)} onCancel={() => void go(to.documents())} />
    </Page>
  )
}

export function EditDocumentPage({ doc }: { doc: string }) {
  const query = useQuery(documentQuery(doc))
  return <Answer query={query} bones={bones}>{(data) => <Edit key={data.id} saved={data} />}</Answer>
}

function Edit({ saved }: { saved: Document }) {
  const t = useT()
  const client = useQueryClient()
  const [, go] = useLocation()
  const [doc] = useState(saved) // as it was when the form opened
  const [base, setBase] = useState(saved.version)
  const save = useMutation({
    mutationFn: ({ title, folder, content }: DocumentValues) => updateDocument(doc.id, { title, folder, content }, base),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: documentQuery(doc.id).queryKey })
      void client.invalidateQueries({ queryKey: ['documents'] })
      go(to.document(doc.id))
    },
    // Saved by somebody else meanwhile: said once, and the next save is on top of it.
    onError: () => setBase(saved.version),
  })
  return (
    <Page title={doc.title} over={t.common.edit}>
      <DocumentForm doc={doc} busy={save.isPending} error={save.error} onSubmit={(values) => save.mutate(values)} onCancel={() => void go(to.document(doc.id))} />
    </Page>
  )
}
