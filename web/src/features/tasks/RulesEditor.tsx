import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { calendarsQuery } from '@/api/calendars'
import { useLocale, useT } from '@/i18n'
import type { Unit } from '@/i18n/format'
import { usePlanning } from '@/i18n/planning'
import { to } from '@/places'
import { Badge } from '@/ui/Badge'
import { Disclosure } from '@/ui/Disclosure'
import { Checkbox, Field, FieldError, Input, Select, TextArea } from '@/ui/Field'
import { Link } from '@/ui/Link'
import { Hours } from '@/ui/week/Hours'
import { Weekdays } from '@/ui/week/Weekdays'
import type { Mode } from './automation'
import { type Amount, type RuleField, type Rules, setRules } from './rules'
import styles from './RulesEditor.module.css'

type Props = { rules: Rules; mode: Mode; wrong?: RuleField; onChange: (rules: Rules) => void; /** Fields of the task that belong here. */ children?: ReactNode }

/** The policies of a schedule, folded away with what differs from the defaults in sight. */
export function RulesEditor({ rules, mode, wrong, onChange, children }: Props) {
  const p = usePlanning()
  const given = setRules(rules).filter((field) => mode === 'heartbeat' || (field !== 'min' && field !== 'max'))
  return (
    <Disclosure
      open={wrong !== undefined || undefined}
      summary={<span className={styles.summary}>{p.rules.title} {given.length === 0 ? <span className={styles.faint}>{p.rules.defaults}</span> : given.map((field) => <Badge key={field}>{p.rules.names[field]}</Badge>)}</span>}
    >
      <Fields rules={rules} mode={mode} wrong={wrong} onChange={onChange}>{children}</Fields>
    </Disclosure>
  )
}

function Fields({ rules, mode, wrong, onChange, children }: Props) {
  const { t, zone } = useLocale()
  const p = usePlanning()
  const set = (part: Partial<Rules>) => onChange({ ...rules, ...part })
  const bad = (field: RuleField) => (wrong === field ? (field === 'dates' ? p.rules.badDates : field === 'startsAt' || field === 'endsAt' ? p.rules.badTime : t.form.badInterval) : undefined)
  return (
    <div className={styles.rules}>
      <Group title={p.rules.groups.clash}>
        <Field label={t.form.overlap}>
          {(w) => <Select {...w} value={rules.overlap || 'skip'} options={(['skip', 'queue', 'cancel'] as const).map((o) => [o, t.form.overlaps[o]] as const)} onPick={(overlap) => set({ overlap })} />}
        </Field>
        <Field label={t.form.missed}>
          {(w) => <Select {...w} value={rules.missed || 'latest'} options={(['latest', 'skip', 'all'] as const).map((o) => [o, t.form.missedOptions[o]] as const)} onPick={(missed) => set({ missed })} />}
        </Field>
        <AmountField label={p.rules.names.catchUp} hint={p.rules.hints.catchUp} error={bad('catchUp')} value={rules.catchUp} onChange={(catchUp) => set({ catchUp })} />
        <AmountField label={p.rules.names.jitter} hint={p.rules.hints.jitter} error={bad('jitter')} value={rules.jitter} onChange={(jitter) => set({ jitter })} />
        <AmountField label={p.rules.names.timeout} hint={p.rules.hints.timeout} error={bad('timeout')} value={rules.timeout} onChange={(timeout) => set({ timeout })} />
        {children}
      </Group>
      {mode === 'heartbeat' && (
        <Group title={p.rules.groups.agent}>
          <AmountField label={p.rules.names.min} error={bad('min')} value={rules.min} onChange={(min) => set({ min })} />
          <AmountField label={p.rules.names.max} error={bad('max')} value={rules.max} onChange={(max) => set({ max })} />
        </Group>
      )}
      <Group title={p.rules.groups.bounds}>
        <Field label={p.rules.names.startsAt} optional hint={zone} error={bad('startsAt')}>{(w) => <Input {...w} type="datetime-local" value={rules.startsAt} onChange={(e) => set({ startsAt: e.target.value })} />}</Field>
        <Field label={p.rules.names.endsAt} optional hint={zone} error={bad('endsAt')}>{(w) => <Input {...w} type="datetime-local" value={rules.endsAt} onChange={(e) => set({ endsAt: e.target.value })} />}</Field>
        <Field label={p.rules.names.maxExecutions} optional hint={p.rules.hints.maxExecutions} error={bad('maxExecutions')}>{(w) => <Input {...w} inputMode="numeric" value={rules.maxExecutions} onChange={(e) => set({ maxExecutions: e.target.value })} />}</Field>
      </Group>
      <Group title={p.rules.groups.conditions}>
        <Labelled label={p.rules.activeHours} hint={p.rules.hints.hours} error={wrong === 'from' || wrong === 'until' ? p.rules.badHours : undefined}>
          <Hours from={rules.from} until={rules.until} labels={[p.rules.names.from, p.rules.names.until]} between={p.rules.to} bad={wrong === 'from' || wrong === 'until' ? wrong : undefined} onChange={set} />
        </Labelled>
        <Labelled label={p.rules.names.days} hint={p.rules.hints.days}><Weekdays label={p.rules.names.days} value={rules.days} onChange={(days) => set({ days })} /></Labelled>
        <Field label={p.rules.names.perDay} optional error={bad('perDay')}>{(w) => <Input {...w} inputMode="numeric" value={rules.perDay} onChange={(e) => set({ perDay: e.target.value })} />}</Field>
      </Group>
      <Group title={p.rules.groups.exclusions}>
        <Calendars picked={rules.calendars} onChange={(calendars) => set({ calendars })} />
        <Field label={p.rules.names.dates} optional hint={p.rules.hints.dates} error={bad('dates')}>{(w) => <TextArea {...w} rows={2} mono value={rules.dates} onChange={(e) => set({ dates: e.target.value })} />}</Field>
      </Group>
    </div>
  )
}

/** Calendars by name. One that a task names but nobody keeps any more can still be taken out. */
function Calendars({ picked, onChange }: { picked: string[]; onChange: (names: string[]) => void }) {
  const p = usePlanning()
  const kept = useQuery(calendarsQuery).data
  const names = [...new Set([...(kept?.map((c) => c.name) ?? []), ...picked])].sort()
  return (
    <Labelled label={p.rules.names.calendars} hint={<Link to={to.settings('calendars')}>{p.rules.manageCalendars}</Link>}>
      {names.length === 0 && <span className={styles.faint}>{p.rules.noCalendars}</span>}
      {names.map((name) => <Checkbox key={name} label={name} checked={picked.includes(name)} onChange={(e) => onChange(e.target.checked ? [...picked, name] : picked.filter((n) => n !== name))} />)}
    </Labelled>
  )
}

const Group = ({ title, children }: { title: string; children: ReactNode }) => (
  <fieldset className={styles.group}>
    <legend>{title}</legend>
    <div className={styles.fields}>{children}</div>
  </fieldset>
)

/** A name over more than one control; each has its own for screen readers. */
const Labelled = ({ label, hint, error, children }: { label: string; hint?: ReactNode; error?: string; children: ReactNode }) => (
  <div className={styles.labelled}>
    <span className={styles.label}>{label}</span>
    {children}
    {error && <FieldError>{error}</FieldError>}
    {hint && <span className={styles.faint}>{hint}</span>}
  </div>
)

const units: Unit[] = ['second', 'minute', 'hour', 'day']

export function AmountField({ label, value, hint, error, onChange }: { label: string; value: Amount; hint?: string; error?: string; onChange: (value: Amount) => void }) {
  const t = useT()
  return (
    <Field label={label} hint={hint} error={error}>
      {(w) => (
        <span className={styles.amount}>
          <Input {...w} inputMode="numeric" value={value.value} onChange={(e) => onChange({ ...value, value: e.target.value })} />
          <Select aria-label={`${label}: ${t.form.unit}`} value={value.unit} options={units.map((u) => [u, t.form.units[u]] as const)} onPick={(unit) => onChange({ ...value, unit })} />
        </span>
      )}
    </Field>
  )
}
