import { useQuery } from '@tanstack/react-query'
import { stepsQuery } from '@/api/runs'
import type { Operation, Step, Usage } from '@/api/types'
import { lookup, useLocale } from '@/i18n'
import { count, money } from '@/i18n/format'
import { Answer } from '@/ui/Answer'
import { Word } from '@/ui/Code'
import { Nothing } from '@/ui/States'
import { Took } from '@/ui/When'
import { counted } from './calls'
import { OperationBadge } from './RunStatus'
import styles from './Steps.module.css'

/** The ledger of an operation: each step with its tokens and cost. */
export function Steps({ operation, many }: { operation: Operation; many: boolean }) {
  const { t, lang } = useLocale()
  const query = useQuery(stepsQuery(operation.id))
  const reason = operation.reasonDetail ?? operation.completionReason
  return (
    <div className={styles.operation}>
      <div className={styles.head}>
        {many && <strong>{t.topics.retryNo(operation.try)}</strong>}
        <OperationBadge operation={operation} />
        <code>{operation.model}</code>
        {reason && reason !== 'done' && <span title={lookup(t.reasons, reason)}><Word>{reason}</Word></span>}
      </div>
      {operation.error && <p className={styles.error}>{operation.error}</p>}
      <Answer query={query}>
        {(steps) => steps.length === 0 ? <Nothing>{t.topics.stepsEmpty}</Nothing> : (
          <>
            <ol className={styles.steps}>{steps.map((step) => <StepRow key={step.seq} step={step} />)}</ol>
            <p className={styles.sum}>
              <strong>{t.topics.stepCount(steps.length)}</strong>
              <span><Tokens usage={operation.usage} /></span>
              <span title={operation.costUsd === null ? t.common.unknownCost : undefined}>{money(lang, operation.costUsd)}</span>
              <span><Took from={operation.startedAt} to={operation.completedAt} /></span>
            </p>
          </>
        )}
      </Answer>
    </div>
  )
}

function Tokens({ usage, estimated }: { usage: Usage; estimated?: boolean }) {
  const { t, lang } = useLocale()
  const about = estimated ? '≈' : ''
  const title = [estimated && t.topics.estimated, usage.cacheReadTokens > 0 && t.topics.cached(count(lang, usage.cacheReadTokens))].filter(Boolean).join('; ')
  return <span title={title || undefined}>{t.topics.inOut(about + count(lang, usage.inputTokens), about + count(lang, usage.outputTokens))}</span>
}

function StepRow({ step }: { step: Step }) {
  const { t, lang } = useLocale()
  return (
    <li>
      <span className={styles.seq}>{step.seq}</span>
      <div className={styles.what}>
        <span>
          {t.topics.kinds[step.kind] ?? step.kind}
          {step.kind === 'tools' && <span className={styles.tools}>{counted(step.toolCalls).join(', ')}</span>}
        </span>
        {step.error && <span className={styles.error}>{step.error}</span>}
        <span className={styles.numbers}>
          {step.kind === 'model' && <Tokens usage={step.usage} estimated={step.estimated} />}
          {step.kind === 'model' && <span title={step.costUsd === null ? t.common.unknownCost : undefined}>{money(lang, step.costUsd)}</span>}
          <Took from={step.startedAt} to={step.completedAt} />
        </span>
      </div>
    </li>
  )
}
