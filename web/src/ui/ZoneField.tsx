import { useId } from 'react'
import { zones } from '@/i18n/format'
import { Field, Input } from './Field'

/** A time zone by its IANA name, with suggestions while typing. */
export function ZoneField({ label, value, onChange, error }: { label: string; value: string; onChange: (zone: string) => void; error?: string }) {
  const id = useId()
  return (
    <Field label={label} error={error}>
      {(w) => (
        <>
          <Input {...w} list={id} spellCheck={false} autoComplete="off" value={value} onChange={(e) => onChange(e.target.value)} />
          <datalist id={id}>{zones().map((zone) => <option key={zone} value={zone} />)}</datalist>
        </>
      )}
    </Field>
  )
}
