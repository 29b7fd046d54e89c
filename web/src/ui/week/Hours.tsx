import { Input } from '../Field'
import styles from './Week.module.css'

/** A window of the day: start included, end excluded, over midnight when the end is earlier. */
export function Hours({ from, until, labels, between, bad, onChange }: { from: string; until: string; labels: [string, string]; between: string; bad?: 'from' | 'until' | undefined; onChange: (part: { from?: string; until?: string }) => void }) {
  return (
    <div className={styles.window}>
      <Input small type="time" aria-label={labels[0]} aria-invalid={bad === 'from' || undefined} value={from} onChange={(e) => onChange({ from: e.target.value })} />
      <span>{between}</span>
      <Input small type="time" aria-label={labels[1]} aria-invalid={bad === 'until' || undefined} value={until} onChange={(e) => onChange({ until: e.target.value })} />
    </div>
  )
}
