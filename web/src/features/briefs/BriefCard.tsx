import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { briefQuery, markRead, resolveBrief } from '@/api/briefs'
import { keys } from '@/api/keys'
import { useNameOf } from '@/api/names'
import { asProblem } from '@/api/problem'
import type { Brief, BriefAction } from '@/api/types'
import { lookup, useT } from '@/i18n'
import { to } from '@/places'
import { Badge } from '@/ui/Badge'
import { Button, buttonClass } from '@/ui/Button'
import { Word } from '@/ui/Code'
import { Field, FieldError, TextArea } from '@/ui/Field'
import { Icon } from '@/ui/Icon'
import { Link } from '@/ui/Link'
import { Markdown, safeHref } from '@/ui/Markdown'
import { Notice } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import { When } from '@/ui/When'
import styles from './BriefCard.module.css'
import { actionLabel, resolvedWords, typeLook } from './looks'

type Props = { brief: Brief; mayResolve: boolean; /** In a list: the note opens on demand. */ compact?: boolean; /** Leaves the focus where it is. */ onResolved?: () => void }

/** One brief with its working buttons. */
export function BriefCard({ brief, mayResolve, compact, onResolved }: Props) {
  const t = useT()
  const look = typeLook[brief.type]
  return (
    <article className={styles.card} aria-labelledby={`brief-${brief.id}`}>
      <div className={styles.line}>
        <Badge tone={look.tone} icon={look.icon}>{t.briefs.types[brief.type]}</Badge>
        {brief.priority === 'urgent' && brief.type !== 'error' && <Badge tone="bad">{t.briefs.priorities.urgent}</Badge>}
        {brief.count > 1 && <Badge>{t.briefs.times(brief.count)}</Badge>}
        <span className={styles.ref}>{brief.number}</span>
        <span className={styles.when}><When at={brief.createdAt} ago /></span>
      </div>
      <h3 id={`brief-${brief.id}`} className={styles.title}>
        {compact ? <Link to={to.brief(brief.number)}>{brief.title}</Link> : brief.title}
      </h3>
      <div className={compact ? styles.folded : undefined}><Markdown text={brief.summary} /></div>
      {brief.artifacts.length > 0 && <Made brief={brief} />}
      <Origin brief={brief} />
      {brief.resolvedAt ? <Resolved brief={brief} /> : <Buttons brief={brief} compact={compact} mayResolve={mayResolve} onResolved={onResolved} />}
    </article>
  )
}

/** What came of the run, to look at. */
function Made({ brief }: { brief: Brief }) {
  const t = useT()
  return (
    <p className={styles.meta}>
      <span>{t.briefs.artifacts}:</span>
      {brief.artifacts.map((made) => made.kind === 'document' ? <Link key={made.id} to={to.document(made.id)}>{made.title}</Link> : <span key={made.id}>{made.title}</span>)}
    </p>
  )
}

function Origin({ brief }: { brief: Brief }) {
  const t = useT()
  const reason = lookup(t.reasons, brief.cause)
  return (
    <p className={styles.meta}>
      {brief.task && <Link to={to.task(brief.task)}>{brief.task}</Link>}
      {brief.topicId && <Link to={to.topic(brief.topicId)}>{t.briefs.run}</Link>}
      {reason && brief.cause !== brief.type && <span title={reason}><Word>{brief.cause}</Word></span>}
      {brief.dueAt && <span>{t.briefs.due} <When at={brief.dueAt} both /></span>}
    </p>
  )
}

function Resolved({ brief }: { brief: Brief }) {
  const t = useT()
  const nameOf = useNameOf()
  return (
    <div className={styles.resolved}>
      <Icon name="check" size={16} />
      <span>
        {resolvedWords(t, brief)}
        {brief.resolvedBy && <> · {t.common.by(nameOf(brief.resolvedBy) ?? t.actors[brief.resolvedBy.kind])}</>}
        {' · '}<When at={brief.resolvedAt} ago />
      </span>
      {brief.resolvedComment && <blockquote>{brief.resolvedComment}</blockquote>}
    </div>
  )
}

function Buttons({ brief, compact, mayResolve, onResolved }: Props) {
  const t = useT()
  const client = useQueryClient()
  const [note, setNote] = useState('')
  const [open, setOpen] = useState(!compact)
  const [missing, setMissing] = useState(false)
  const [late, setLate] = useState(false)
  const text = useRef<HTMLTextAreaElement>(null)

  const resolve = useMutation({
    mutationFn: (action: BriefAction) => resolveBrief(brief.number, action.key, note.trim() || undefined),
    onSuccess: ({ brief: after, effects }) => {
      client.setQueryData(keys.brief(brief.number), after)
      void client.invalidateQueries({ queryKey: ['briefs'] })
      void client.invalidateQueries({ queryKey: ['task'] })
      toast(
        <>
          {t.briefs.done(brief.number)}
          {effects.length > 0 && <ul className={styles.effects}>{effects.map((e) => <li key={e}>{e}</li>)}</ul>}
        </>,
      )
      onResolved?.()
    },
    onError: (error) => {
      const problem = asProblem(error)
      if (problem.status === 409 || problem.status === 404) {
        setLate(problem.code === 'already_resolved')
        void client.invalidateQueries({ queryKey: keys.brief(brief.number) })
        void client.invalidateQueries({ queryKey: ['briefs'] })
      }
      if (problem.code !== 'already_resolved') toastProblem(t, error)
    },
  })

  if (!mayResolve) return <p className={styles.meta}>{t.briefs.viewerHint}</p>

  const press = (action: BriefAction) => {
    if (action.kind === 'comment' && note.trim() === '') {
      setOpen(true)
      setMissing(true)
      requestAnimationFrame(() => text.current?.focus())
      return
    }
    resolve.mutate(action)
  }

  return (
    <div className={styles.answer}>
      {late && <Notice tone="info" icon="clock">{t.briefs.alreadyResolved}</Notice>}
      {open && (
        <Field label={t.briefs.note} optional hint={compact ? undefined : t.briefs.noteHint}>
          {(w) => <TextArea {...w} ref={text} rows={2} className={styles.note} value={note} aria-invalid={missing || undefined} onChange={(e) => { setNote(e.target.value); setMissing(false) }} />}
        </Field>
      )}
      {missing && <FieldError>{t.briefs.noteNeeded}</FieldError>}
      <div className={styles.buttons} data-actions>
        {brief.actions.map((action, i) => {
          const href = action.kind === 'link' ? safeHref(action.url ?? '') : undefined
          if (action.kind === 'link') {
            if (!href) return null
            const outside = !href.startsWith('/')
            return <a key={action.key} className={buttonClass({ small: compact })} href={href} {...(outside ? { target: '_blank', rel: 'noopener noreferrer' } : {})}>{actionLabel(t, action)}</a>
          }
          return (
            <Button key={action.key} small={compact} look={i === 0 ? 'primary' : 'plain'} disabled={resolve.isPending} busy={resolve.isPending && resolve.variables?.key === action.key} onClick={() => press(action)}>
              {actionLabel(t, action)}
            </Button>
          )
        })}
        {!open && <Button small look="quiet" icon="comment" onClick={() => { setOpen(true); requestAnimationFrame(() => text.current?.focus()) }}>{t.briefs.addNote}</Button>}
      </div>
    </div>
  )
}

/** Reading a brief marks it read, once. */
export function useMarkRead(brief: Brief | undefined) {
  const client = useQueryClient()
  const id = brief && !brief.readAt ? brief.number : undefined
  useEffect(() => {
    if (!id) return
    const timer = window.setTimeout(() => {
      markRead(id).then(
        () => {
          void client.invalidateQueries({ queryKey: ['briefs'] })
          void client.invalidateQueries({ queryKey: briefQuery(id).queryKey })
        },
        () => undefined, // it stays unread
      )
    }, 800)
    return () => window.clearTimeout(timer)
  }, [id, client])
}
