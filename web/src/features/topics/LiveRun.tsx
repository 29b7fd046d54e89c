import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useDelta } from '@/api/live'
import { stepsQuery } from '@/api/runs'
import type { Operation, Step } from '@/api/types'
import { useLocale } from '@/i18n'
import { count, money } from '@/i18n/format'
import { Badge } from '@/ui/Badge'
import { excerpt } from '@/ui/Markdown'
import { Bones } from '@/ui/States'
import { Took } from '@/ui/When'
import { counted } from './calls'
import styles from './LiveRun.module.css'
import { isOpen } from './looks'
import { OperationBadge } from './RunStatus'

/** A run as it happens: its steps so far, and what the model is writing. */
export function LiveRun({ operation }: { operation: Operation }) {
  const { t } = useLocale()
  const query = useQuery(stepsQuery(operation.id))
  const delta = useDelta(operation.id)
  const steps = query.data ?? []
  const live = isOpen(operation)
  // A delta of a step that is already recorded is old news.
  const writing = live && delta && delta.step > (steps.at(-1)?.seq ?? 0) ? delta : undefined
  return (
    <div className={styles.run}>
      {query.isPending ? <Bones rows={2} height={24} /> : (
        <ol className={styles.steps}>
          {steps.map((step) => <StepLine key={step.seq} step={step} />)}
          {live && (
            <li className={styles.now}>
              <span className={styles.seq}>{(steps.at(-1)?.seq ?? 0) + 1}</span>
              <div className={styles.what}>
                <span className={styles.head}>
                  <OperationBadge operation={operation} plain />
                  {writing && <span className={styles.faint}>{writing.text ? t.topics.writing : writing.reasoning ? t.topics.thinking : t.topics.callsTools}</span>}
                  <span className={styles.numbers}><Took from={steps.at(-1)?.completedAt ?? operation.startedAt ?? operation.createdAt} to={null} /></span>
                </span>
                {writing && (writing.text || writing.reasoning) && <Growing text={writing.text || writing.reasoning} />}
              </div>
            </li>
          )}
        </ol>
      )}
    </div>
  )
}

/** Text that grows at its end, kept in sight unless the reader scrolled up. */
function Growing({ text }: { text: string }) {
  const ref = useRef<HTMLDivElement>(null)
  const follow = useRef(true)
  useEffect(() => {
    const box = ref.current
    if (box && follow.current) box.scrollTop = box.scrollHeight
  }, [text])
  return (
    <div
      ref={ref}
      className={styles.growing}
      tabIndex={0}
      onScroll={(e) => {
        const box = e.currentTarget
        follow.current = box.scrollHeight - box.scrollTop - box.clientHeight < 40
      }}
    >
      {text}
    </div>
  )
}

function StepLine({ step }: { step: Step }) {
  const { t, lang } = useLocale()
  const tokens = step.usage.inputTokens + step.usage.outputTokens
  return (
    <li>
      <span className={styles.seq}>{step.seq}</span>
      <div className={styles.what}>
        <span className={styles.head}>
          <strong>{t.topics.kinds[step.kind] ?? step.kind}</strong>
          {step.kind === 'tools' && counted(step.toolCalls).map((name) => <Badge key={name}>{name}</Badge>)}
          {step.toolCalls.some((call) => call.isError) && <Badge tone="bad">{t.topics.toolFailed}</Badge>}
          <span className={styles.numbers}>
            {tokens > 0 && t.today.tokens(count(lang, tokens))}
            {tokens > 0 && step.costUsd !== null && <> · {money(lang, step.costUsd)}</>}
            {' '}<Took from={step.startedAt} to={step.completedAt} />
          </span>
        </span>
        {step.text && <span className={styles.excerpt}>{excerpt(step.text, 160)}</span>}
        {step.error && <span className={styles.bad}>{step.error}</span>}
      </div>
    </li>
  )
}
