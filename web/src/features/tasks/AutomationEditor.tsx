import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { asProblem } from '@/api/problem'
import { previewQuery } from '@/api/tasks'
import type { Automation } from '@/api/types'
import { lookup, useLocale, useT } from '@/i18n'
import type { Unit } from '@/i18n/format'
import { problemWords } from '@/i18n/problems'
import { Button } from '@/ui/Button'
import { Word } from '@/ui/Code'
import { Field, FieldError, Input, Select } from '@/ui/Field'
import { Segments } from '@/ui/Segments'
import { Bone } from '@/ui/States'
import { useNow, When } from '@/ui/When'
import { ZoneField } from '@/ui/ZoneField'
import { type Amount, type Draft, type Mode, plannedBy, startSentence } from './automation'
import styles from './AutomationEditor.module.css'

const modes: Mode[] = ['none', 'once', 'heartbeat', 'every', 'schedule']
const presets = [
  ['weekdays7', '0 7 * * 1-5'],
  ['daily8', '0 8 * * *'],
  ['monday9', '0 9 * * 1'],
  ['hourly', '0 * * * *'],
  ['firstOfMonth', '0 6 1 * *'],
] as const

type Props = { draft: Draft; onChange: (draft: Draft) => void; /** What the server said of the saved form. */ error?: string; showErrors: boolean }

/** When a task starts, with its next fires shown while it is typed. */
export function AutomationEditor({ draft, onChange, error, showErrors }: Props) {
  const { t, zone: viewerZone } = useLocale()
  const set = (part: Partial<Draft>) => onChange({ ...draft, ...part })
  const planned = plannedBy(draft, viewerZone, Date.now())
  const wrong = 'error' in planned ? planned.error : undefined
  const amountError = showErrors && wrong === 'badInterval' ? t.form.badInterval : undefined

  return (
    <div className={styles.editor}>
      <Segments label={t.form.start} value={draft.mode} options={modes.map((m) => [m, t.form.modes[m]] as const)} onPick={(mode) => set({ mode })} />
      <p className={styles.hint}>{t.form.modeHints[draft.mode]}</p>
      <div className={styles.fields}>
        {draft.mode === 'once' && (
          <Field label={t.form.at} error={showErrors && wrong === 'badMoment' ? t.form.badMoment : undefined} hint={viewerZone}>
            {(w) => <Input {...w} type="datetime-local" value={draft.onceAt} onChange={(e) => set({ onceAt: e.target.value })} />}
          </Field>
        )}
        {draft.mode === 'heartbeat' && <AmountField label={t.form.interval} value={draft.interval} error={amountError} onChange={(interval) => set({ interval })} />}
        {draft.mode === 'every' && (
          <>
            <AmountField label={t.form.every} value={draft.every} error={amountError} onChange={(every) => set({ every })} />
            <Field label={t.form.anchor} optional hint={viewerZone}>{(w) => <Input {...w} type="datetime-local" value={draft.anchor} onChange={(e) => set({ anchor: e.target.value })} />}</Field>
          </>
        )}
        {draft.mode === 'schedule' && (
          <>
            <Field label={t.form.pattern} hint={t.form.patternHint}>
              {(w) => <Input {...w} mono spellCheck={false} autoCapitalize="none" autoComplete="off" value={draft.pattern} onChange={(e) => set({ pattern: e.target.value })} />}
            </Field>
            <ZoneField label={t.form.zone} value={draft.zone} onChange={(zone) => set({ zone })} />
            <div className={styles.presets} role="group" aria-label={t.form.presets}>
              {presets.map(([name, pattern]) => <Button key={name} small look={draft.pattern.trim() === pattern ? 'plain' : 'quiet'} aria-pressed={draft.pattern.trim() === pattern} onClick={() => set({ pattern })}>{t.form.preset[name]}</Button>)}
            </div>
          </>
        )}
      </div>
      {error && <FieldError>{error}</FieldError>}
      {draft.mode !== 'none' && <Fires draft={draft} />}
    </div>
  )
}

function AmountField({ label, value, error, onChange }: { label: string; value: Amount; error?: string; onChange: (value: Amount) => void }) {
  const t = useT()
  const units: Unit[] = ['second', 'minute', 'hour', 'day']
  return (
    <Field label={label} error={error}>
      {(w) => (
        <span className={styles.amount}>
          <Input {...w} inputMode="numeric" value={value.value} onChange={(e) => onChange({ ...value, value: e.target.value })} />
          <Select aria-label={t.form.unit} value={value.unit} options={units.map((u) => [u, t.form.units[u]] as const)} onPick={(unit) => onChange({ ...value, unit })} />
        </span>
      )}
    </Field>
  )
}

function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  const text = JSON.stringify(value)
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(JSON.parse(text) as T), ms)
    return () => window.clearTimeout(timer)
  }, [text, ms])
  return settled
}

const shownFires = 5

function Fires({ draft }: { draft: Draft }) {
  const locale = useLocale()
  const { t } = locale
  const now = useNow(30_000)
  const planned = plannedBy(draft, locale.zone, now)
  const automation = useSettled<Automation | null>('error' in planned ? null : planned.automation, 200)
  const query = useQuery({ ...previewQuery(automation, shownFires), placeholderData: (old) => old })
  const problem = query.error ? asProblem(query.error) : undefined
  const once = draft.mode === 'once' && !('error' in planned) ? planned.startAt : null

  return (
    <div className={styles.fires} aria-live="polite">
      <div className={styles.firesHead}>
        <strong>{t.form.fires}</strong>
        {!('error' in planned) && !problem && <span>{startSentence(locale, planned, now)}</span>}
      </div>
      {'error' in planned ? (
        <p className={styles.hint}>{t.form.firesWaiting}</p>
      ) : once ? (
        <ol><li><When at={once} both /></li></ol>
      ) : problem ? (
        <FieldError>{problem.fields[0]?.message ?? problemWords(t, problem).text}</FieldError>
      ) : !query.data ? (
        <ol aria-hidden="true">{Array.from({ length: shownFires }, (_, i) => <li key={i}><Bone width="70%" /></li>)}</ol>
      ) : query.data.length === 0 ? (
        <p className={styles.hint}>{t.form.firesEmpty}</p>
      ) : (
        <>
        <ol>
          {query.data.map((fire) => (
            <li key={fire.at}>
              <When at={fire.at} zone={automation?.timezone} both />
              {fire.note && fire.note !== 'earliest' && <span className={styles.note}>{lookup(t.form.notes, fire.note) ?? fire.note}</span>}
              {fire.reason && <span className={styles.note}>{lookup(t.reasons, fire.reason)} <Word>{fire.reason}</Word></span>}
            </li>
          ))}
        </ol>
        {/* Of a heartbeat every time is one at the earliest: said once. */}
        {query.data.some((fire) => fire.note === 'earliest') && <p className={styles.hint}>{t.form.notes.earliest}</p>}
        </>
      )}
    </div>
  )
}
