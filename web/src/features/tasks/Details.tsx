import type { Agent, Task } from '@/api/types'
import { useLocale } from '@/i18n'
import { duration, money } from '@/i18n/format'
import { usePlanning } from '@/i18n/planning'
import { to } from '@/places'
import { Badge } from '@/ui/Badge'
import { Link } from '@/ui/Link'
import { Facts } from '@/ui/Rows'
import { useNow, When } from '@/ui/When'
import { isUneven, startSentence } from './automation'
import { rulesOf, setRules } from './rules'

/** The order's terms. */
export function Details({ task, agents }: { task: Task; agents: Agent[] }) {
  const locale = useLocale()
  const { t, lang } = locale
  const now = useNow(60_000)
  const p = usePlanning()
  const once = !task.automation
  const { cadence } = task
  const uneven = isUneven(task.automation?.mode, cadence?.configuredSeconds)
  // Half as often as it should is worth a word.
  const slow = cadence?.effectiveSeconds != null && cadence.configuredSeconds != null && cadence.effectiveSeconds > cadence.configuredSeconds * 1.5
  const rules = setRules(rulesOf(task.automation ?? null, 'UTC'))
  const { day, operation } = task.config.budget ?? {}
  const budget = [
    day?.usd != null && t.tasks.perDay(money(lang, day.usd)),
    operation?.usd != null && t.tasks.perRun(money(lang, operation.usd)),
  ].filter((b) => b !== false)
  const agent = agents.find((a) => a.id === task.assigneeAgent)
  const agentName = agent ? agent.name : task.assigneeAgent ? t.tasks.agent : t.tasks.defaultAgent
  return (
    <Facts
      items={[
        [t.tasks.automation, startSentence(locale, task, now)],
        [p.task.cadence, cadence && (cadence.effectiveSeconds == null
          ? (cadence.configuredSeconds != null && p.task.configured(duration(lang, cadence.configuredSeconds), uneven))
          : <span key="cadence">{p.task.effective(duration(lang, cadence.effectiveSeconds), cadence.over)}{cadence.configuredSeconds != null && <> · {p.task.configured(duration(lang, cadence.configuredSeconds), uneven)}</>}{slow && <> <Badge tone="warn">{p.task.slower}</Badge></>}</span>)],
        [p.rules.title, rules.length > 0 && rules.map((field) => <span key={field}><Badge>{p.rules.names[field]}</Badge> </span>)],
        [p.rules.concurrencyKey, task.config.concurrencyKey && <code key="key">{task.config.concurrencyKey}</code>],
        [p.task.executions, task.automation?.maxExecutions && p.task.executionsOf(task.executions, task.automation.maxExecutions)],
        [p.cron.madeBy, task.madeBy && <Link key="job" to={to.task(task.madeBy)}>{task.madeBy}</Link>],
        [t.tasks.agent, agentName],
        [t.tasks.budget, budget.length > 0 ? budget.map((b) => <div key={b}>{b}</div>) : t.tasks.noBudget],
        [t.form.maxTopics, task.maxTopics],
        [t.tasks.acceptance, once && t.form.acceptances[task.config.acceptance === 'auto' ? 'auto' : 'review']],
        [t.form.priority, task.priority !== 'none' && t.tasks.priority[task.priority]],
        [t.tasks.labels, task.labels.length > 0 && task.labels.map((label) => <span key={label}><Badge>{label}</Badge> </span>)],
        [t.tasks.spent, <span key="spent" title={task.costUsd === null ? t.common.unknownCost : undefined}>{money(lang, task.costUsd)}</span>],
        [t.tasks.created, <When key="created" at={task.createdAt} />],
      ]}
    />
  )
}
