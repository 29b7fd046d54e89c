import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Workspace } from '@/api/types'
import { type Holding, holdWorkspace, openRunsQuery, resumeWorkspace, updateWorkspace, type WorkspaceEdit } from '@/api/workspace'
import { useT } from '@/i18n'
import { problemWords } from '@/i18n/problems'
import { usePlanning } from '@/i18n/planning'
import { Badge } from '@/ui/Badge'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Checkbox, Field, TextArea } from '@/ui/Field'
import type { IconName } from '@/ui/Icon'
import { Panel } from '@/ui/Panel'
import { Facts } from '@/ui/Rows'
import { Failure } from '@/ui/States'
import { toast } from '@/ui/Toasts'
import { When } from '@/ui/When'
import { WeekWindow } from '@/ui/week/WeekWindow'
import styles from './Workspace.module.css'

type Ask = Holding | 'resume' | 'readOnly' | 'writable'

const useRefresh = () => {
  const client = useQueryClient()
  // What holds the workspace decides what every page says.
  return () => client.invalidateQueries()
}

/** What holds the workspace, and the buttons that do. */
export function Holds({ workspace, mayHold }: { workspace: Workspace; mayHold: boolean }) {
  const p = usePlanning()
  const [asked, setAsked] = useState<Ask>()
  const held = !!workspace.pausedAt || !!workspace.maintenanceAt
  const open = useQuery(openRunsQuery).data?.openRuns
  const buttons: (readonly [Ask, IconName])[] = [...(held ? [['resume', 'play'] as const] : []), ...(workspace.pausedAt ? [] : [['pause', 'pause'] as const]), ['stop', 'stop'], ...(workspace.maintenanceAt ? [] : [['maintenance', 'clock'] as const]), workspace.readOnly ? ['writable', 'pencil'] : ['readOnly', 'file']]
  return (
    <Panel title={p.holds.title} hint={p.holds.hint}>
      <div className={styles.stack}>
        <Facts
          items={[
            [p.holds.state, <span key="s" className={styles.badges}>
              {workspace.pausedAt && <Badge tone="warn" icon="pause">{p.holds.states.paused}</Badge>}
              {workspace.maintenanceAt && <Badge tone="warn" icon="clock">{p.holds.states.maintenance}</Badge>}
              {!held && <Badge tone="good" icon="check">{p.holds.states.open}</Badge>}
              {workspace.readOnly && <Badge tone="info" icon="file">{p.holds.states.readOnly}</Badge>}
            </span>],
            [p.holds.since, (workspace.pausedAt ?? workspace.maintenanceAt) && <When key="w" at={workspace.pausedAt ?? workspace.maintenanceAt} both />],
            [p.holds.note, workspace.pauseNote ?? workspace.maintenanceNote],
            [p.holds.openRuns, open],
          ]}
        />
        {mayHold ? (
          <div className={styles.buttons}>
            {buttons.map(([ask, icon]) => <Button key={ask} icon={icon} look={ask === 'resume' ? 'primary' : ask === 'stop' ? 'danger' : 'plain'} onClick={() => setAsked(ask)}>{p.holds.acts[ask]}</Button>)}
          </div>
        ) : (
          <p className={styles.hint}>{p.holds.adminsOnly}</p>
        )}
      </div>
      {asked && <HoldDialog ask={asked} workspace={workspace} open={open} onClose={() => setAsked(undefined)} />}
    </Panel>
  )
}

/** Says what will happen before it does. */
function HoldDialog({ ask, workspace, open, onClose }: { ask: Ask; workspace: Workspace; open: number | undefined; onClose: () => void }) {
  const t = useT()
  const p = usePlanning()
  const refresh = useRefresh()
  const [note, setNote] = useState('')
  const [catchUp, setCatchUp] = useState(false)
  const act = useMutation({
    mutationFn: async () => {
      if (ask === 'resume') await resumeWorkspace(catchUp)
      else if (ask === 'readOnly' || ask === 'writable') await updateWorkspace({ readOnly: ask === 'readOnly' }, workspace.version)
      else await holdWorkspace(ask, note)
    },
    onSuccess: () => {
      toast(p.holds.done[ask])
      onClose()
    },
    onSettled: refresh,
  })
  const noted = ask === 'pause' || ask === 'stop' || ask === 'maintenance'
  return (
    <Dialog title={p.holds.asks[ask].title} onClose={onClose}>
      <form className={styles.stack} onSubmit={(e) => { e.preventDefault(); act.mutate() }}>
        <ul className={styles.happens}>
          {p.holds.asks[ask].happens(open ?? 0).map((line) => <li key={line}>{line}</li>)}
        </ul>
        {noted && <Field label={p.holds.noteFor} optional>{(w) => <TextArea {...w} rows={2} autoFocus maxLength={2000} value={note} onChange={(e) => setNote(e.target.value)} />}</Field>}
        {ask === 'resume' && <Checkbox label={p.holds.catchUp} hint={p.holds.catchUpHint} checked={catchUp} onChange={(e) => setCatchUp(e.target.checked)} />}
        {act.error && <Failure error={act.error} />}
        <div className={styles.end}>
          <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look={ask === 'stop' ? 'danger' : 'primary'} busy={act.isPending} autoFocus={!noted}>{p.holds.acts[ask]}</Button>
        </div>
      </form>
    </Dialog>
  )
}

/** When nothing in the workspace starts by itself. */
export function QuietHours({ workspace, mayEdit }: { workspace: Workspace; mayEdit: boolean }) {
  const t = useT()
  const p = usePlanning()
  const refresh = useRefresh()
  const save = useMutation({
    mutationFn: (edit: WorkspaceEdit) => updateWorkspace(edit, workspace.version),
    onSuccess: () => toast(t.common.saved),
    onSettled: refresh,
  })
  return (
    <Panel title={p.quiet.title} hint={p.quiet.hint}>
      <WeekWindow key={JSON.stringify(workspace.quietHours)} value={workspace.quietHours ?? null} zone={workspace.timezone} disabled={!mayEdit} busy={save.isPending} error={save.error ? problemWords(t, save.error).text : undefined} onSave={(quietHours) => save.mutate({ quietHours })} />
    </Panel>
  )
}
