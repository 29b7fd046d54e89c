import { type ReactNode, useState } from 'react'
import { useT } from '@/i18n'
import { usePlanning } from '@/i18n/planning'
import { IconButton } from '@/ui/Button'
import { Field, Input, Select } from '@/ui/Field'
import { Weekdays } from '@/ui/week/Weekdays'
import { ZoneInput } from '@/ui/ZoneField'
import styles from './Sentence.module.css'
import { everyDay, hourSteps, minuteSteps, patternNotes, patternOf, type Phrase, phraseOf, weekdays, weekend } from './phrase'

type Kind = 'day' | 'weekday' | 'weekend' | 'days' | 'dates' | 'hours' | 'minutes' | 'own'
const kinds: Kind[] = ['day', 'weekday', 'weekend', 'days', 'dates', 'hours', 'minutes', 'own']

const same = (a: number[], b: number[]) => a.join() === b.join()
function kindOf(phrase: Phrase | null): Kind {
  if (!phrase) return 'own'
  if (phrase.kind !== 'days') return phrase.kind
  return same(phrase.days, everyDay) ? 'day' : same(phrase.days, weekdays) ? 'weekday' : same(phrase.days, weekend) ? 'weekend' : 'days'
}

/** The phrase of another kind, keeping what both know. */
function recast(phrase: Phrase | null, kind: Kind): Phrase | null {
  const minute = phrase && 'minute' in phrase ? phrase.minute : 0
  const hours = phrase && 'hours' in phrase ? phrase.hours : [7]
  switch (kind) {
    case 'day':
      return { kind: 'days', days: everyDay, hours, minute }
    case 'weekday':
      return { kind: 'days', days: weekdays, hours, minute }
    case 'weekend':
      return { kind: 'days', days: weekend, hours, minute }
    case 'days':
      return { kind: 'days', days: [1], hours, minute }
    case 'dates':
      return { kind: 'dates', dates: [1], hours, minute }
    case 'hours':
      return { kind: 'hours', step: 1, minute }
    case 'minutes':
      return { kind: 'minutes', step: 15 }
    case 'own':
      return null
  }
}

type Props = { pattern: string; zone: string; /** As the server would save it, when that is spelled otherwise. */ saved?: string; onChange: (part: { pattern?: string; zone?: string }) => void }

/** When, as a sentence of words to choose; beside it the pattern, for whoever writes those. Each follows the other. */
export function Sentence({ pattern, zone, saved, onChange }: Props) {
  const t = useT()
  const p = usePlanning()
  const phrase = phraseOf(pattern)
  // Chosen days may happen to be all weekdays: the words stay those that were chosen.
  const [chosen, setChosen] = useState<Kind>()
  const kind = phrase?.kind === 'days' && chosen === 'days' ? 'days' : kindOf(phrase)
  const say = (next: Phrase) => onChange({ pattern: patternOf(next) })
  const pick = (next: Kind) => {
    setChosen(next)
    const recasted = recast(phrase, next)
    if (recasted) say(recasted)
    else document.getElementById('pattern-field')?.querySelector('input')?.focus()
  }
  return (
    <div className={styles.sentence}>
      <div className={styles.words} role="group" aria-label={p.sentence.label}>
        <Select small aria-label={p.sentence.how} value={kind} options={kinds.map((k) => [k, p.sentence.kinds[k]] as const)} onPick={pick} />
        {phrase?.kind === 'minutes' && <Select small aria-label={p.sentence.step} value={String(phrase.step)} options={minuteSteps.map((s) => [String(s), p.sentence.minutes(s)] as const)} onPick={(step) => say({ ...phrase, step: Number(step) })} />}
        {phrase?.kind === 'hours' && (
          <>
            <Select small aria-label={p.sentence.step} value={String(phrase.step)} options={hourSteps.map((s) => [String(s), p.sentence.hours(s)] as const)} onPick={(step) => say({ ...phrase, step: Number(step) })} />
            <Together word={p.sentence.atMinute}><Select small aria-label={p.sentence.minute} value={String(phrase.minute)} options={sixty.map((m) => [String(m), `:${two(m)}`] as const)} onPick={(minute) => say({ ...phrase, minute: Number(minute) })} /></Together>
          </>
        )}
        {kind === 'days' && phrase?.kind === 'days' && <Weekdays label={p.sentence.weekdays} value={phrase.days} onChange={(days) => days.length > 0 && say({ ...phrase, days })} />}
        {phrase?.kind === 'dates' && <Dates key={kind} value={phrase.dates} onChange={(dates) => say({ ...phrase, dates })} />}
        {(phrase?.kind === 'days' || phrase?.kind === 'dates') && <Times phrase={phrase} onChange={say} />}
        <Together word={p.sentence.in}><ZoneInput small className={styles.zone} aria-label={t.form.zone} value={zone} onChange={(next) => onChange({ zone: next })} /></Together>
      </div>
      <div id="pattern-field">
        <Field label={t.form.pattern} hint={<>{t.form.patternHint}{saved && saved !== pattern.trim() && <> · {p.sentence.savedAs} <code>{saved}</code></>}</>}>
          {(w) => <Input {...w} small mono className={styles.pattern} spellCheck={false} autoCapitalize="none" autoComplete="off" value={pattern} onChange={(e) => { setChosen(undefined); onChange({ pattern: e.target.value }) }} />}
        </Field>
      </div>
      {patternNotes(pattern).map((note) => <p key={note} className={styles.note}>{p.sentence.notes[note]}</p>)}
    </div>
  )
}

/** A word of the sentence with what follows it: no line ends between them. */
function Together({ word, children }: { word: string; children: ReactNode }) {
  return <span className={styles.together}><span>{word}</span>{children}</span>
}

const two = (value: number) => String(value).padStart(2, '0')
const sixty = Array.from({ length: 60 }, (_, i) => i)

type Timed = Extract<Phrase, { hours: number[] }>

/** The times of the day. One pattern has one minute: changing it changes it for all. */
function Times({ phrase, onChange }: { phrase: Timed; onChange: (phrase: Phrase) => void }) {
  const p = usePlanning()
  const set = (index: number, text: string) => {
    const match = /^(\d\d):(\d\d)/.exec(text)
    if (!match) return
    const hours = phrase.hours.map((h, i) => (i === index ? Number(match[1]) : h))
    onChange({ ...phrase, hours: [...new Set(hours)], minute: Number(match[2]) })
  }
  const last = phrase.hours.at(-1)!
  return (
    <>
      {phrase.hours.map((hour, i) => {
        const time = (
          <span key={i} className={styles.time}>
            <Input small type="time" aria-label={phrase.hours.length > 1 ? p.sentence.timeNo(i + 1) : p.sentence.time} value={`${two(hour)}:${two(phrase.minute)}`} onChange={(e) => set(i, e.target.value)} />
            {phrase.hours.length > 1 && <IconButton small icon="x" label={p.sentence.dropTime(`${two(hour)}:${two(phrase.minute)}`)} onClick={() => onChange({ ...phrase, hours: phrase.hours.filter((_, at) => at !== i) })} />}
          </span>
        )
        return i === 0 ? <Together key={i} word={p.sentence.at}>{time}</Together> : time
      })}
      {phrase.hours.length < 6 && last < 23 && <IconButton small icon="plus" label={p.sentence.addTime} onClick={() => onChange({ ...phrase, hours: [...phrase.hours, Math.min(23, last + (phrase.hours.length > 1 ? last - phrase.hours.at(-2)! : 4))] })} />}
    </>
  )
}

/** Days of the month, as typed: 1, 15. */
function Dates({ value, onChange }: { value: number[]; onChange: (dates: number[]) => void }) {
  const p = usePlanning()
  const [text, setText] = useState(value.join(', '))
  const read = (typed: string) => {
    const parts = typed.split(/[\s,，、]+/).filter(Boolean)
    return parts.length > 0 && parts.every((d) => /^\d{1,2}$/.test(d) && Number(d) >= 1 && Number(d) <= 31) ? [...new Set(parts.map(Number))].sort((a, b) => a - b) : null
  }
  const write = (typed: string) => {
    setText(typed)
    const dates = read(typed)
    if (dates) onChange(dates)
  }
  return <Input small className={styles.dates} inputMode="numeric" aria-label={p.sentence.dates} aria-invalid={read(text) === null || undefined} value={text} onChange={(e) => write(e.target.value)} />
}
