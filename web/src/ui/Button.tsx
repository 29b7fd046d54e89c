import type { ComponentProps } from 'react'
import styles from './Button.module.css'
import { cx } from './cx'
import { Icon, type IconName } from './Icon'

export type ButtonLook = { look?: 'primary' | 'plain' | 'quiet' | 'danger'; small?: boolean; iconOnly?: boolean }

/** For links that look like buttons. */
export const buttonClass = ({ look = 'plain', small, iconOnly }: ButtonLook = {}) =>
  cx(styles.button, styles[look], small && styles.small, iconOnly && styles.icon)

type Props = ComponentProps<'button'> & ButtonLook & { icon?: IconName; busy?: boolean }

export function Button({ look, small, icon, busy, iconOnly, className, children, disabled, type = 'button', ...rest }: Props) {
  return (
    <button {...rest} type={type} disabled={disabled || busy} aria-busy={busy || undefined} className={cx(buttonClass({ look, small, iconOnly }), busy && styles.busy, className)}>
      {icon && <Icon name={icon} size={small ? 16 : 18} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  )
}

/** A button of only an icon; its label is read aloud and shown on hover. */
export function IconButton({ label, icon, ...rest }: Omit<Props, 'children' | 'icon'> & { label: string; icon: IconName }) {
  return <Button look="quiet" {...rest} iconOnly icon={icon} aria-label={label} title={label} />
}
