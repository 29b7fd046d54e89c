import { useQuery } from '@tanstack/react-query'
import { stepsQuery } from '@/api/runs'
import type { Operation, Step } from '@/api/types'
import { lookup, useLocale } from '@/i18n'
import { count, money } from '@/i18n/format'
import { Answer } from '@/ui/Answer'
import { Word } from '@/ui/Code'
import { Nothing } from '@/ui/States'
import { Took } from '@/ui/When'
import { OperationBadge } from './RunStatus'
import styles from './Steps.module.css'

/** The ledger of an operation: each step with its tokens and cost. */
export function Steps({ operation, many }: { operation: Operation; many: boolean }) {
  const { t, lang } = useLocale()
  const query = useQuery(stepsQuery(operation.id))
  const { usage } = operation
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
          <div className={styles.scroll} tabIndex={0} role="region" aria-label={t.topics.steps}>
            <table className={styles.table}>
              <thead>
                <tr><th>#</th><th>{t.topics.stepKind}</th><th className={styles.n}>{t.topics.tokensIn}</th><th className={styles.n}>{t.topics.tokensOut}</th><th className={styles.n}>{t.topics.cost}</th><th className={styles.n}>{t.topics.took}</th></tr>
              </thead>
              <tbody>{steps.map((step) => <StepRow key={step.seq} step={step} />)}</tbody>
              <tfoot>
                <tr>
                  <td /><td>{t.topics.stepCount(steps.length)}</td>
                  <td className={styles.n}>{count(lang, usage.inputTokens)}</td><td className={styles.n}>{count(lang, usage.outputTokens)}</td>
                  <td className={styles.n}>{money(lang, operation.costUsd)}</td><td className={styles.n}><Took from={operation.startedAt} to={operation.completedAt} /></td>
                </tr>
              </tfoot>
            </table>
          </div>
        )}
      </Answer>
    </div>
  )
}

function StepRow({ step }: { step: Step }) {
  const { t, lang } = useLocale()
  const { usage } = step
  const isModel = step.kind === 'model'
  return (
    <tr>
      <td>{step.seq}</td>
      <td>
        {t.topics.kinds[step.kind] ?? step.kind}
        {step.toolCalls.length > 0 && <span className={styles.tools}>{step.toolCalls.map((c) => c.name).join(', ')}</span>}
        {step.error && <span className={styles.error}> {step.error}</span>}
      </td>
      <td className={styles.n} title={usage.cacheReadTokens > 0 ? t.topics.cached(count(lang, usage.cacheReadTokens)) : undefined}>{isModel ? count(lang, usage.inputTokens) : ''}</td>
      <td className={styles.n} title={step.estimated ? t.topics.estimated : undefined}>{isModel ? `${step.estimated ? '≈ ' : ''}${count(lang, usage.outputTokens)}` : ''}</td>
      <td className={styles.n} title={step.costUsd === null ? t.common.unknownCost : undefined}>{isModel ? money(lang, step.costUsd) : ''}</td>
      <td className={styles.n}><Took from={step.startedAt} to={step.completedAt} /></td>
    </tr>
  )
}
