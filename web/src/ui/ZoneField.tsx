import { type ComponentProps, useId } from 'react'
import { zones } from '@/i18n/format'
import { Field, Input } from './Field'

type InputProps = Omit<ComponentProps<typeof Input>, 'value' | 'onChange' | 'list'> & { value: string; onChange: (zone: string) => void }

/** A time zone by its IANA name, with suggestions while typing. */
export function ZoneInput({ value, onChange, ...rest }: InputProps) {
  const id = useId()
  return (
    <>
      <Input {...rest} list={id} spellCheck={false} autoComplete="off" value={value} onChange={(e) => onChange(e.target.value)} />
      <datalist id={id}>{zones().map((zone) => <option key={zone} value={zone} />)}</datalist>
    </>
  )
}

export function ZoneField({ label, error, ...input }: { label: string; value: string; onChange: (zone: string) => void; error?: string }) {
  return <Field label={label} error={error}>{(w) => <ZoneInput {...w} {...input} />}</Field>
}
