import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { pauseTask, resumeTask } from '@/api/tasks'
import type { Task } from '@/api/types'
import { useT } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Checkbox, Field, TextArea } from '@/ui/Field'
import { Failure } from '@/ui/States'
import styles from './BulkBar.module.css'

export type Hold = 'pause' | 'resume'

/** Says what pausing or resuming a task will do, and asks what else it should. */
export function HoldTask({ hold, task, onClose }: { hold: Hold; task: Task; onClose: () => void }) {
  const t = useT()
  const p = usePlanning().hold
  const client = useQueryClient()
  const [note, setNote] = useState('')
  const [also, setAlso] = useState(false) // stop the run, or make up for what was missed
  const act = useMutation({
    mutationFn: () => (hold === 'pause' ? pauseTask(task.identifier, { interrupt: also, note }) : resumeTask(task.identifier, also)),
    onSuccess: (after) => {
      client.setQueryData(keys.task(task.identifier), after)
      onClose()
    },
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: keys.task(task.identifier) }), client.invalidateQueries({ queryKey: ['tasks'] })]),
  })
  const offers = hold === 'pause' ? !!task.currentTopicId : !!task.automation
  const mode = task.automation?.mode
  const happens = hold === 'pause' ? `${p.pause.happens}${offers ? ` ${p.pause.open}` : ''}` : mode === 'heartbeat' ? p.resume.heartbeat : mode ? p.resume.planned : p.resume.idle
  return (
    <Dialog title={p[hold].title(task.identifier)} onClose={onClose}>
      <form className={styles.form} onSubmit={(e) => { e.preventDefault(); act.mutate() }}>
        <p>{happens}</p>
        {hold === 'pause' && <Field label={p.note} optional>{(w) => <TextArea {...w} rows={2} autoFocus maxLength={2000} value={note} onChange={(e) => setNote(e.target.value)} />}</Field>}
        {offers && <Checkbox label={p[hold].also} hint={p[hold].alsoHint} checked={also} onChange={(e) => setAlso(e.target.checked)} />}
        {act.error && <Failure error={act.error} />}
        <div className={styles.end}>
          <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="primary" busy={act.isPending} autoFocus={hold === 'resume'}>{t.tasks.actions[hold]}</Button>
        </div>
      </form>
    </Dialog>
  )
}
