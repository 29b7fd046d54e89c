import { useState } from 'react'
import { useT } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { Button } from '../Button'
import { Checkbox, Field, FieldError } from '../Field'
import { ZoneInput } from '../ZoneField'
import { Hours } from './Hours'
import styles from './Week.module.css'
import { Weekdays } from './Weekdays'

export type Window = { days?: number[]; start: string; end: string; timezone?: string }

type Props = { value: Window | null; /** The zone that counts when none is named. */ zone: string; disabled?: boolean; busy: boolean; error?: string; onSave: (value: Window | null) => void }

/** A window of the week that comes again and again, or none. */
export function WeekWindow({ value, zone, disabled, busy, error, onSave }: Props) {
  const t = useT()
  const p = usePlanning()
  const [on, setOn] = useState(value !== null)
  const [days, setDays] = useState(value?.days ?? [])
  const [start, setStart] = useState(value?.start ?? '22:00')
  const [end, setEnd] = useState(value?.end ?? '06:00')
  const [timezone, setTimezone] = useState(value?.timezone ?? '')
  const [tried, setTried] = useState(false)
  const bad = on && (start === '' ? 'from' : end === '' ? 'until' : undefined)
  const save = () => {
    setTried(true)
    if (bad) return
    onSave(on ? { start, end, ...(days.length > 0 ? { days } : {}), ...(timezone.trim() ? { timezone: timezone.trim() } : {}) } : null)
  }
  return (
    <form className={styles.form} onSubmit={(e) => { e.preventDefault(); save() }}>
      <Checkbox label={p.quiet.on} checked={on} disabled={disabled} onChange={(e) => setOn(e.target.checked)} />
      {on && (
        <fieldset disabled={disabled} className={styles.plain}>
          <Hours from={start} until={end} labels={[p.rules.names.from, p.rules.names.until]} between={p.rules.to} bad={tried && bad ? bad : undefined} onChange={({ from, until }) => { if (from !== undefined) setStart(from); if (until !== undefined) setEnd(until) }} />
          <Weekdays label={p.rules.names.days} value={days} onChange={setDays} />
          <p className={styles.hint}>{p.quiet.days}</p>
          <Field label={t.form.zone} optional>{(w) => <ZoneInput {...w} small placeholder={zone} value={timezone} onChange={setTimezone} />}</Field>
        </fieldset>
      )}
      {error && <FieldError>{error}</FieldError>}
      {!disabled && <div><Button small type="submit" busy={busy}>{t.common.save}</Button></div>}
    </form>
  )
}
