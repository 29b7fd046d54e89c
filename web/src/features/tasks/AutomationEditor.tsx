import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { asProblem } from '@/api/problem'
import { previewQuery } from '@/api/tasks'
import type { Automation } from '@/api/types'
import { lookup, useLocale } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { problemWords } from '@/i18n/problems'
import { Word } from '@/ui/Code'
import { Field, FieldError, Input } from '@/ui/Field'
import { Segments } from '@/ui/Segments'
import { Bone } from '@/ui/States'
import { useSettled } from '@/ui/settled'
import { useNow, When } from '@/ui/When'
import { type Draft, type Mode, plannedBy, startSentence } from './automation'
import styles from './AutomationEditor.module.css'
import { AmountField, RulesEditor } from './RulesEditor'
import { Sentence } from './Sentence'

const modes: Mode[] = ['none', 'once', 'heartbeat', 'every', 'schedule']
type Props = { draft: Draft; onChange: (draft: Draft) => void; /** What the server said of the saved form. */ error?: string; showErrors: boolean; /** Fields of the task that stand with the policies. */ children?: ReactNode }

/** When a task starts, with its next fires shown while it is typed. */
export function AutomationEditor({ draft, onChange, error, showErrors, children }: Props) {
  const { t, zone: viewerZone } = useLocale()
  const set = (part: Partial<Draft>) => onChange({ ...draft, ...part })
  const planned = plannedBy(draft, viewerZone, Date.now())
  const wrong = 'error' in planned ? planned.error : undefined
  const repeats = draft.mode !== 'none' && draft.mode !== 'once'
  const preview = usePreview(draft).query.data
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
        {draft.mode === 'schedule' && <Sentence pattern={draft.pattern} zone={draft.zone} saved={preview?.automation.pattern} onChange={set} />}
      </div>
      {error && <FieldError>{error}</FieldError>}
      {draft.mode !== 'none' && <Fires draft={draft} />}
      {repeats && <RulesEditor rules={draft.rules} mode={draft.mode} wrong={showErrors && 'error' in planned ? planned.rule : undefined} onChange={(rules) => set({ rules })}>{children}</RulesEditor>}
    </div>
  )
}

const shownFires = 5

/** What the server makes of a draft, a moment after the typing stops. */
function usePreview(draft: Draft) {
  const { zone } = useLocale()
  const now = useNow(30_000)
  const planned = plannedBy(draft, zone, now)
  const automation = useSettled<Automation | null>('error' in planned ? null : planned.automation, 200)
  return { planned, automation, now, query: useQuery({ ...previewQuery(automation, shownFires), placeholderData: (old) => old }) }
}

function Fires({ draft }: { draft: Draft }) {
  const locale = useLocale()
  const { t } = locale
  const p = usePlanning()
  const { planned, automation, now, query } = usePreview(draft)
  const problem = query.error ? asProblem(query.error) : undefined
  const once = draft.mode === 'once' && !('error' in planned) ? planned.startAt : null
  const fires = query.data?.items
  const next = once ?? fires?.find((fire) => !fire.reason)?.at

  return (
    <div className={styles.fires} aria-live="polite">
      {!('error' in planned) && !problem && (
        <p className={styles.firesHead}>
          <strong>{startSentence(locale, planned, now)}</strong>
          {next && <span>{p.sentence.next} <When at={next} both /></span>}
        </p>
      )}
      {'error' in planned ? (
        <p className={styles.hint}>{t.form.firesWaiting}</p>
      ) : once ? null : problem ? (
        <FieldError>{problem.fields[0]?.message ?? problemWords(t, problem).text}</FieldError>
      ) : !fires ? (
        <ol aria-hidden="true">{Array.from({ length: shownFires }, (_, i) => <li key={i}><Bone width="70%" /></li>)}</ol>
      ) : fires.length === 0 ? (
        <p className={styles.hint}>{t.form.firesEmpty}</p>
      ) : (
        <>
          <ol aria-label={t.form.fires}>
            {fires.map((fire) => (
              <li key={fire.at} className={fire.reason ? styles.refused : undefined}>
                <When at={fire.at} zone={automation?.timezone} both />
                {draft.mode === 'schedule' && <span className={styles.offset}>{fire.offset}</span>}
                {fire.note && fire.note !== 'earliest' && <span className={styles.note}>{lookup(t.form.notes, fire.note) ?? fire.note}</span>}
                {fire.reason && <span className={styles.note}>{lookup(t.reasons, fire.reason)} <Word>{fire.reason}</Word></span>}
              </li>
            ))}
          </ol>
          {query.data?.days?.map((day) => <p key={day.date} className={styles.hint}>{p.sentence.lost(day.date, day.from, day.to, day.lost)}</p>)}
          {/* Of a heartbeat every time is one at the earliest: said once. */}
          {fires.some((fire) => fire.note === 'earliest') && <p className={styles.hint}>{t.form.notes.earliest}</p>}
        </>
      )}
    </div>
  )
}
