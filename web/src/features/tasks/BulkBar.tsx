import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Bulk, type BulkAction, type Chosen, orderMany, undoMany } from '@/api/bulk'
import { useT } from '@/i18n'
import { type Planning, usePlanning } from '@/i18n/planning'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Field, TextArea } from '@/ui/Field'
import { Failure } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import styles from './BulkBar.module.css'

type Props = { chosen: Chosen; /** More tasks match the filters than are chosen. */ more: boolean; onAll: () => void; onClear: () => void }

/** What may be done with the chosen tasks at once. */
export function BulkBar({ chosen, more, onAll, onClear }: Props) {
  const t = useT()
  const p = usePlanning()
  const [asked, setAsked] = useState<BulkAction>()
  return (
    <div className={styles.bar} role="group" aria-label={p.bulk.label}>
      <strong role="status">{'ids' in chosen ? p.bulk.chosen(chosen.ids.length) : p.bulk.matching}</strong>
      {more && 'ids' in chosen && <Button small look="quiet" onClick={onAll}>{p.bulk.all}</Button>}
      <span className={styles.push} />
      <Button small icon="pause" onClick={() => setAsked('pause')}>{t.tasks.actions.pause}</Button>
      <Button small icon="play" onClick={() => setAsked('resume')}>{t.tasks.actions.resume}</Button>
      <Button small icon="stop" onClick={() => setAsked('cancel')}>{p.bulk.cancel}</Button>
      <Button small look="quiet" icon="x" onClick={onClear}>{p.bulk.clear}</Button>
      {asked && <Order action={asked} chosen={chosen} onDone={onClear} onClose={() => setAsked(undefined)} />}
    </div>
  )
}

function Order({ action, chosen, onDone, onClose }: { action: BulkAction; chosen: Chosen; onDone: () => void; onClose: () => void }) {
  const t = useT()
  const p = usePlanning()
  const client = useQueryClient()
  const [note, setNote] = useState('')
  const refresh = () => Promise.all([client.invalidateQueries({ queryKey: ['tasks'] }), client.invalidateQueries({ queryKey: ['task'] })])
  const undo = async (order: Bulk) => {
    try {
      toast(p.bulk.undone((await undoMany(order.id)).changed))
    } catch (error) {
      toastProblem(t, error)
    }
    await refresh()
  }
  const act = useMutation({
    mutationFn: () => orderMany(action, chosen, note),
    onSuccess: (order) => {
      toast(outcome(p, action, order), 'good', order.changed > 0 && order.undoable ? { label: p.bulk.undo, run: () => void undo(order) } : undefined)
      onDone()
      onClose()
    },
    onSettled: refresh,
  })
  const count = 'ids' in chosen ? chosen.ids.length : undefined
  return (
    <Dialog title={p.bulk.title[action](count)} onClose={onClose}>
      <form className={styles.form} onSubmit={(e) => { e.preventDefault(); act.mutate() }}>
        <p>{p.bulk.hint[action]}</p>
        <Field label={p.bulk.note} optional>{(w) => <TextArea {...w} rows={2} autoFocus maxLength={2000} value={note} onChange={(e) => setNote(e.target.value)} />}</Field>
        {act.error && <Failure error={act.error} />}
        <div className={styles.end}>
          <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look={action === 'cancel' ? 'danger' : 'primary'} busy={act.isPending}>{action === 'cancel' ? p.bulk.cancel : t.tasks.actions[action]}</Button>
        </div>
      </form>
    </Dialog>
  )
}

const named = 3

/** What came of an order: how many changed, and what stays as it is and why. */
function outcome(p: Planning, action: BulkAction, order: Bulk) {
  const skipped = order.skipped ?? []
  return (
    <>
      {p.bulk.done[action](order.changed)}
      {!!order.pending && <> {p.bulk.pending(order.pending)}</>}
      {skipped.length > 0 && <> {p.bulk.skipped(skipped.length)} {skipped.slice(0, named).map((s) => `${s.task} (${s.code})`).join(', ')}{skipped.length > named && '…'}</>}
    </>
  )
}
