import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useT } from '@/i18n'
import { Button, IconButton } from './Button'
import { cx } from './cx'
import styles from './Dialog.module.css'

type Props = { title: string; onClose: () => void; wide?: boolean; children: ReactNode }

/** A modal dialog. Escape and a click beside it close it; the browser keeps the focus inside and gives it back. */
export function Dialog({ title, onClose, wide, children }: Props) {
  const t = useT()
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    if (dialog && !dialog.open) dialog.showModal()
    // The browser would take the first button, which closes: what is typed next belongs into the first field.
    dialog?.querySelector<HTMLElement>('[data-focus], textarea, input, select')?.focus()
    return () => dialog?.close()
  }, [])
  return (
    <dialog ref={ref} className={cx(styles.dialog, wide && styles.wide)} aria-labelledby={id} onCancel={(e) => { e.preventDefault(); onClose() }} onClick={(e) => e.target === e.currentTarget && onClose()}>
      <div className={styles.inner}>
        <header className={styles.head}>
          <h2 id={id} className={styles.title}>{title}</h2>
          <IconButton small label={t.common.close} icon="x" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  )
}

type ConfirmProps = { title: string; text: ReactNode; confirm: string; danger?: boolean; busy?: boolean; onConfirm: () => void; onClose: () => void; more?: ReactNode }

export function Confirm({ title, text, confirm, danger, busy, onConfirm, onClose, more }: ConfirmProps) {
  const t = useT()
  return (
    <Dialog title={title} onClose={onClose}>
      <p className={styles.text}>{text}</p>
      <div className={styles.actions}>
        <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
        {more}
        <Button look={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm} data-focus>{confirm}</Button>
      </div>
    </Dialog>
  )
}
