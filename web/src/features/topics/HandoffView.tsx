import type { Handoff } from '@/api/types'
import { useT } from '@/i18n'
import { Markdown } from '@/ui/Markdown'
import styles from './HandoffView.module.css'

/** What a run left for the next one. */
export function HandoffView({ handoff, titled }: { handoff: Handoff; titled?: boolean }) {
  const t = useT()
  return (
    <div className={styles.handoff}>
      {titled && <h3>{handoff.title}</h3>}
      <Markdown text={handoff.summary} />
      {handoff.keyFindings.length > 0 && (
        <div>
          <h4>{t.topics.findings}</h4>
          <ul>{handoff.keyFindings.map((finding, i) => <li key={i}><Markdown text={finding} /></li>)}</ul>
        </div>
      )}
      {handoff.unfinished && <div><h4>{t.topics.unfinished}</h4><Markdown text={handoff.unfinished} /></div>}
      {handoff.nextAction && <div><h4>{t.topics.nextAction}</h4><Markdown text={handoff.nextAction} /></div>}
    </div>
  )
}
