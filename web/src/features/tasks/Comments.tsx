import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { useNameOf } from '@/api/names'
import { itemsOf } from '@/api/paging'
import { addComment, commentsQuery, deleteComment } from '@/api/tasks'
import { useT } from '@/i18n'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Button, IconButton } from '@/ui/Button'
import { TextArea } from '@/ui/Field'
import { Link } from '@/ui/Link'
import { Markdown } from '@/ui/Markdown'
import { More, rows } from '@/ui/Rows'
import { Nothing } from '@/ui/States'
import { toastProblem } from '@/ui/Toasts'
import { When } from '@/ui/When'
import styles from './Comments.module.css'

type Props = { task: string; me: string; mayWrite: boolean }

export function Comments({ task, me, mayWrite }: Props) {
  const t = useT()
  const client = useQueryClient()
  const nameOf = useNameOf()
  const [text, setText] = useState('')
  const query = useInfiniteQuery(commentsQuery(task))
  const refresh = () => client.invalidateQueries({ queryKey: keys.taskPart(task, 'comments') })
  const send = useMutation({
    mutationFn: () => addComment(task, text.trim()),
    onSuccess: () => {
      setText('')
      return refresh()
    },
    onError: (error) => toastProblem(t, error),
  })
  const drop = useMutation({ mutationFn: deleteComment, onSuccess: refresh, onError: (error) => toastProblem(t, error) })
  return (
    <>
      {mayWrite && (
        <form className={styles.form} onSubmit={(e) => { e.preventDefault(); if (text.trim()) send.mutate() }}>
          <TextArea rows={2} aria-label={t.tasks.comments} className={styles.text} placeholder={t.tasks.commentPlaceholder} value={text} onChange={(e) => setText(e.target.value)} />
          <Button small type="submit" disabled={text.trim() === ''} busy={send.isPending}>{t.tasks.commentSend}</Button>
        </form>
      )}
      <Answer query={query}>
        {(data) => {
          const comments = itemsOf(data)
          if (comments.length === 0) return <Nothing>{t.tasks.commentsEmpty}</Nothing>
          return (
            <>
              <ul className={rows.rows}>
                {comments.map((comment) => {
                  const mine = comment.author.id === me
                  return (
                    <li key={comment.id} className={rows.row}>
                      <div className={styles.head}>
                        <strong>{mine ? t.actors.you : nameOf(comment.author) ?? t.actors[comment.author.kind]}</strong>
                        <When at={comment.createdAt} ago />
                        {mine && mayWrite && <IconButton small icon="trash" label={t.tasks.deleteComment} disabled={drop.isPending} onClick={() => drop.mutate(comment.id)} />}
                      </div>
                      <Markdown text={comment.content} />
                      {comment.consumedBy ? <span className={rows.meta}><Link to={to.topic(comment.consumedBy)}>{t.tasks.commentRead}</Link></span> : (comment.author.kind === 'person' || comment.author.kind === 'token') && <span className={rows.meta}>{t.tasks.commentFresh}</span>}
                    </li>
                  )
                })}
              </ul>
              <More query={query} />
            </>
          )
        }}
      </Answer>
    </>
  )
}
