import { type ComponentProps, type ReactNode, useId } from 'react'
import { useT } from '@/i18n'
import { cx } from './cx'
import styles from './Field.module.css'
import { Icon } from './Icon'

type Wiring = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined }

type Props = { label: ReactNode; hint?: ReactNode; error?: string; optional?: boolean; className?: string; children: (wiring: Wiring) => ReactNode }

/** A labelled control with its hint and what is wrong with it, tied together for screen readers. */
export function Field({ label, hint, error, optional, className, children }: Props) {
  const t = useT()
  const id = useId()
  const about = cx(hint ? `${id}-hint` : '', error ? `${id}-error` : '') || undefined
  return (
    <div className={cx(styles.field, className)}>
      <label className={styles.label} htmlFor={id}>
        {label}
        {optional && <span className={styles.optional}>{t.common.optional}</span>}
      </label>
      {children({ id, 'aria-describedby': about, 'aria-invalid': error ? true : undefined })}
      {error && <FieldError id={`${id}-error`}>{error}</FieldError>}
      {hint && <div id={`${id}-hint`} className={styles.hint}>{hint}</div>}
    </div>
  )
}

export function FieldError({ id, children }: { id?: string; children: ReactNode }) {
  return (
    <div id={id} className={styles.error} role="alert">
      <Icon name="alert" size={14} />
      <span>{children}</span>
    </div>
  )
}

export const inputClass = styles.input

export function Input({ mono, small, className, ...rest }: ComponentProps<'input'> & { mono?: boolean; small?: boolean }) {
  return <input {...rest} className={cx(styles.input, mono && styles.mono, small && styles.small, className)} />
}

/** A text area that sends its form with Ctrl or ⌘ and Enter, and lets go of the keyboard with Escape. */
export function TextArea({ mono, className, onKeyDown, ...rest }: ComponentProps<'textarea'> & { mono?: boolean }) {
  return (
    <textarea
      {...rest}
      className={cx(styles.input, mono && styles.mono, className)}
      onKeyDown={(e) => {
        onKeyDown?.(e)
        if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && e.currentTarget.form) {
          e.preventDefault()
          e.currentTarget.form.requestSubmit()
        }
        if (e.key === 'Escape' && !e.currentTarget.closest('dialog')) {
          e.preventDefault()
          e.currentTarget.blur()
        }
      }}
    />
  )
}

export function Select<T extends string>({ options, value, onPick, small, className, ...rest }: Omit<ComponentProps<'select'>, 'value' | 'onChange'> & { options: readonly (readonly [T, string])[]; value: T; onPick: (value: T) => void; small?: boolean }) {
  return (
    <select {...rest} value={value} onChange={(e) => onPick(e.target.value as T)} className={cx(styles.input, small && styles.small, className)}>
      {options.map(([key, label]) => (
        <option key={key} value={key}>{label}</option>
      ))}
    </select>
  )
}

export function Checkbox({ label, hint, ...rest }: ComponentProps<'input'> & { label: ReactNode; hint?: ReactNode }) {
  return (
    <label className={styles.check}>
      <input {...rest} type="checkbox" />
      <span>
        {label}
        {hint && <span className={styles.hint}> {hint}</span>}
      </span>
    </label>
  )
}
