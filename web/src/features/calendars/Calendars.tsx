import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { calendarsQuery, createCalendar, deleteCalendar, updateCalendar } from '@/api/calendars'
import { keys } from '@/api/keys'
import { asProblem } from '@/api/problem'
import type { Calendar } from '@/api/types'
import { useLocale, useT } from '@/i18n'
import { shortDate } from '@/i18n/format'
import { usePlanning } from '@/i18n/planning'
import { datesText, parseDates } from '@/i18n/planning.dates'
import { Answer } from '@/ui/Answer'
import { Button, IconButton } from '@/ui/Button'
import { Confirm, Dialog } from '@/ui/Dialog'
import { Field, Input, TextArea } from '@/ui/Field'
import { Panel } from '@/ui/Panel'
import { rows } from '@/ui/Rows'
import { Bones, Empty, Failure } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import styles from './Calendars.module.css'

/** Dates under a name, which any number of schedules exclude. */
export function Calendars({ mayEdit }: { mayEdit: boolean }) {
  const t = useT()
  const p = usePlanning()
  const client = useQueryClient()
  const query = useQuery(calendarsQuery)
  const [editing, setEditing] = useState<Calendar | 'new'>()
  const [dropping, setDropping] = useState<Calendar>()
  // Each schedule that names one is judged anew.
  const refresh = () => Promise.all([client.invalidateQueries({ queryKey: keys.calendars }), client.invalidateQueries({ queryKey: ['tasks'] }), client.invalidateQueries({ queryKey: ['task'] })])
  const drop = useMutation({
    mutationFn: (id: string) => deleteCalendar(id),
    onSuccess: () => toast(p.calendars.deleted),
    onError: (error) => toastProblem(t, error),
    onSettled: () => {
      setDropping(undefined)
      return refresh()
    },
  })
  const add = mayEdit && <Button small icon="plus" onClick={() => setEditing('new')}>{p.calendars.add}</Button>
  return (
    <Panel flush title={p.calendars.title} hint={p.calendars.hint} aside={add}>
      <Answer query={query} bones={<Bones rows={3} height={56} />}>
        {(calendars) => calendars.length === 0 ? <Empty icon="calendar" title={p.calendars.empty} hint={p.calendars.emptyHint} /> : (
          <ul className={rows.rows}>
            {calendars.map((calendar) => (
              <li key={calendar.id} className={rows.row}>
                <div className={rows.line}>
                  <span className={rows.grow}><span className={rows.title}>{calendar.name}</span></span>
                  {mayEdit && <Button small look="quiet" icon="pencil" onClick={() => setEditing(calendar)}>{t.common.edit}<span className="visually-hidden"> {calendar.name}</span></Button>}
                  {mayEdit && <IconButton small icon="trash" label={`${t.common.delete} ${calendar.name}`} onClick={() => setDropping(calendar)} />}
                </div>
                <Dates calendar={calendar} />
              </li>
            ))}
          </ul>
        )}
      </Answer>
      {editing && <Editor calendar={editing === 'new' ? undefined : editing} onDone={() => void refresh()} onClose={() => setEditing(undefined)} />}
      {dropping && <Confirm danger title={p.calendars.deleteTitle(dropping.name)} text={p.calendars.deleteHint} confirm={t.common.delete} busy={drop.isPending} onConfirm={() => drop.mutate(dropping.id)} onClose={() => setDropping(undefined)} />}
    </Panel>
  )
}

const shown = 12

function Dates({ calendar }: { calendar: Calendar }) {
  const { lang } = useLocale()
  const p = usePlanning()
  const day = (date: string) => shortDate(lang, date)
  const all = [...calendar.dates.map((d) => [d, day(d)] as const), ...calendar.ranges.map((r) => [r.from, `${day(r.from)} – ${day(r.to)}`] as const)].sort(([a], [b]) => a.localeCompare(b))
  if (all.length === 0) return <p className={rows.meta}>{p.calendars.noDates}</p>
  return (
    <p className={rows.meta}>
      {all.slice(0, shown).map(([key, text]) => <span key={key + text}>{text}</span>)}
      {all.length > shown && <span>{p.calendars.more(all.length - shown)}</span>}
    </p>
  )
}

function Editor({ calendar, onDone, onClose }: { calendar?: Calendar; onDone: () => void; onClose: () => void }) {
  const t = useT()
  const p = usePlanning()
  const [name, setName] = useState(calendar?.name ?? '')
  const [text, setText] = useState(calendar ? datesText(calendar) : '')
  const [tried, setTried] = useState(false)
  const listed = parseDates(text)
  const save = useMutation({
    mutationFn: async (body: { name: string; dates: string[]; ranges: Calendar['ranges'] }) => {
      if (!calendar) return createCalendar(body)
      const { name: renamed, ...dates } = body
      return updateCalendar(calendar, renamed === calendar.name ? dates : body)
    },
    onSuccess: () => {
      onDone()
      onClose()
      toast(t.common.saved)
    },
  })
  const problem = save.error ? asProblem(save.error) : undefined
  const submit = () => {
    setTried(true)
    if (name.trim() !== '' && !('wrong' in listed)) save.mutate({ name: name.trim(), ...listed })
  }
  return (
    <Dialog title={calendar ? p.calendars.edit(calendar.name) : p.calendars.add} onClose={onClose}>
      <form className={styles.form} onSubmit={(e) => { e.preventDefault(); submit() }}>
        <Field label={p.calendars.name} hint={p.calendars.nameHint} error={problem?.field('name') ?? (tried && name.trim() === '' ? p.calendars.nameNeeded : undefined)}>{(w) => <Input {...w} autoFocus={!calendar} maxLength={100} autoComplete="off" placeholder="holidays" value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <Field label={p.rules.names.dates} hint={p.rules.hints.dates} error={problem?.field('dates') ?? problem?.field('ranges') ?? (tried && 'wrong' in listed ? `${p.rules.badDates}: ${listed.wrong}` : undefined)}>{(w) => <TextArea {...w} mono rows={7} autoFocus={!!calendar} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
        {problem && !problem.covers(['name', 'dates', 'ranges']) && <Failure error={problem} />}
        <div className={styles.end}>
          <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="primary" busy={save.isPending}>{t.common.save}</Button>
        </div>
      </form>
    </Dialog>
  )
}
