import { useState } from 'react'
import { useT } from '@/i18n'
import { Button } from './Button'
import styles from './Code.module.css'

// A result of a tool may be huge; a browser that lays out a megabyte stops moving.
const shown = 4000

/** Text as it is, in a fixed pitch. Long text starts with its head. */
export function Code({ text }: { text: string }) {
  const t = useT()
  const [whole, setWhole] = useState(false)
  const long = text.length > shown * 1.2 && !whole
  return (
    <>
      <pre className={styles.code} tabIndex={0}>{long ? `${text.slice(0, shown)}…` : text}</pre>
      {long && <Button small look="quiet" onClick={() => setWhole(true)}>{t.common.showAll}</Button>}
    </>
  )
}

export const Word = ({ children }: { children: string }) => <code className={styles.inline}>{children}</code>

/** A line that is there to be copied. */
export function CopyLine({ text }: { text: string }) {
  const t = useT()
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      window.setTimeout(() => setCopied(false), 2000)
    } catch {
      // No clipboard on plain http: the text is selectable.
    }
  }
  return (
    <div className={styles.copy}>
      <code>{text}</code>
      {navigator.clipboard && <Button small icon={copied ? 'check' : 'copy'} onClick={() => void copy()}>{copied ? t.common.copied : t.common.copy}</Button>}
    </div>
  )
}
