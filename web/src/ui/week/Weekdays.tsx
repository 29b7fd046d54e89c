import { useLocale } from '@/i18n'
import { weekday } from '@/i18n/format'
import { cx } from '../cx'
import { segmentClass, segmentsClass } from '../Segments'
import styles from './Week.module.css'

// The week starts on Monday here; 0 is Sunday.
const order = [1, 2, 3, 4, 5, 6, 0]

/** Some days of the week, each a button that is pressed or not. */
export function Weekdays({ label, value, onChange }: { label: string; value: number[]; onChange: (days: number[]) => void }) {
  const { lang } = useLocale()
  const toggle = (day: number) => onChange((value.includes(day) ? value.filter((d) => d !== day) : [...value, day]).sort((a, b) => a - b))
  return (
    <div role="group" aria-label={label} className={cx(segmentsClass, styles.days)}>
      {order.map((day) => (
        <button key={day} type="button" aria-pressed={value.includes(day)} aria-label={weekday(lang, day)} className={cx(segmentClass, styles.day)} onClick={() => toggle(day)}>
          {weekday(lang, day, 'short')}
        </button>
      ))}
    </div>
  )
}
