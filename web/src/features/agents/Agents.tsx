import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { keys } from '@/api/keys'
import { agentsQuery } from '@/api/session'
import type { Agent } from '@/api/types'
import { pauseAgent, resumeAgent, updateAgent } from '@/api/workspace'
import { useT } from '@/i18n'
import { problemWords } from '@/i18n/problems'
import { usePlanning } from '@/i18n/planning'
import { Answer } from '@/ui/Answer'
import { Badge } from '@/ui/Badge'
import { Button } from '@/ui/Button'
import { Dialog } from '@/ui/Dialog'
import { Disclosure } from '@/ui/Disclosure'
import { Checkbox, Field, TextArea } from '@/ui/Field'
import { Panel } from '@/ui/Panel'
import { rows } from '@/ui/Rows'
import { Bones, Failure, Nothing } from '@/ui/States'
import { toast } from '@/ui/Toasts'
import { When } from '@/ui/When'
import { WeekWindow } from '@/ui/week/WeekWindow'
import styles from './Agents.module.css'

type Props = { zone: string; mayHold: boolean; /** What else an agent has: another feature's, so it comes from the page. */ more?: (agent: Agent) => ReactNode }

/** The agents, each with what holds it. */
export function Agents({ zone, mayHold, more }: Props) {
  const p = usePlanning()
  const query = useQuery(agentsQuery)
  return (
    <Answer query={query} bones={<Panel><Bones rows={3} height={64} /></Panel>}>
      {(agents) => agents.length === 0 ? <Nothing>{p.agents.empty}</Nothing> : <>{agents.map((agent) => <AgentPanel key={agent.id} agent={agent} zone={zone} mayHold={mayHold} more={more} />)}</>}
    </Answer>
  )
}

function AgentPanel({ agent, zone, mayHold, more }: { agent: Agent } & Props) {
  const t = useT()
  const p = usePlanning()
  const client = useQueryClient()
  const [asked, setAsked] = useState(false)
  const refresh = () => Promise.all([client.invalidateQueries({ queryKey: keys.agents }), client.invalidateQueries({ queryKey: ['task'] })])
  const save = useMutation({
    mutationFn: (quietHours: Agent['quietHours']) => updateAgent(agent, { quietHours: quietHours ?? null }),
    onSuccess: () => toast(t.common.saved),
    onSettled: refresh,
  })
  const quiet = agent.quietHours
  return (
    <Panel
      title={agent.name}
      hint={agent.description || undefined}
      aside={mayHold && <Button small icon={agent.pausedAt ? 'play' : 'pause'} onClick={() => setAsked(true)}>{agent.pausedAt ? p.agents.resume : p.agents.pause}<span className="visually-hidden"> {agent.name}</span></Button>}
    >
      <div className={styles.agent}>
        <p className={rows.meta}>
          <span className={rows.ref}>{agent.slug}</span>
          {agent.isDefault && <Badge>{t.form.agentDefault}</Badge>}
          {agent.disabledAt ? <Badge tone="neutral" icon="x">{p.agents.disabled}</Badge> : agent.pausedAt ? <Badge tone="warn" icon="pause">{p.agents.paused}</Badge> : <Badge tone="good" icon="check">{p.agents.ready}</Badge>}
          {agent.pausedAt && <span><When at={agent.pausedAt} ago />{agent.pauseNote && `: “${agent.pauseNote}”`}</span>}
          {agent.profile.model && <code>{agent.profile.model}</code>}
        </p>
        <Disclosure summary={<>{p.quiet.title}: {quiet ? `${quiet.start}–${quiet.end}` : p.quiet.none}</>}>
          <WeekWindow key={JSON.stringify(quiet)} value={quiet ?? null} zone={zone} disabled={!mayHold} busy={save.isPending} error={save.error ? problemWords(t, save.error).text : undefined} onSave={(value) => save.mutate(value)} />
        </Disclosure>
        {more?.(agent)}
      </div>
      {asked && <PauseDialog agent={agent} onDone={() => void refresh()} onClose={() => setAsked(false)} />}
    </Panel>
  )
}

function PauseDialog({ agent, onDone, onClose }: { agent: Agent; onDone: () => void; onClose: () => void }) {
  const t = useT()
  const p = usePlanning()
  // What was asked stays, also when an event brings the answer before it is there.
  const [resumes] = useState(!!agent.pausedAt)
  const [note, setNote] = useState('')
  const [catchUp, setCatchUp] = useState(false)
  const act = useMutation({
    mutationFn: () => (resumes ? resumeAgent(agent.slug, catchUp) : pauseAgent(agent.slug, note)),
    onSuccess: () => {
      toast(resumes ? p.agents.resumed(agent.name) : p.agents.pausedNow(agent.name))
      onDone()
      onClose()
    },
  })
  return (
    <Dialog title={resumes ? p.agents.resumeTitle(agent.name) : p.agents.pauseTitle(agent.name)} onClose={onClose}>
      <form className={styles.agent} onSubmit={(e) => { e.preventDefault(); act.mutate() }}>
        <p>{resumes ? p.agents.resumeHint : p.agents.pauseHint}</p>
        {resumes ? <Checkbox label={p.holds.catchUp} checked={catchUp} onChange={(e) => setCatchUp(e.target.checked)} /> : <Field label={p.holds.noteFor} optional>{(w) => <TextArea {...w} rows={2} autoFocus maxLength={2000} value={note} onChange={(e) => setNote(e.target.value)} />}</Field>}
        {act.error && <Failure error={act.error} />}
        <div className={styles.end}>
          <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="primary" busy={act.isPending}>{resumes ? p.agents.resume : p.agents.pause}</Button>
        </div>
      </form>
    </Dialog>
  )
}
