import type { Agent, Task } from '@/api/types'
import { useLocale } from '@/i18n'
import { money } from '@/i18n/format'
import { Badge } from '@/ui/Badge'
import { Facts } from '@/ui/Rows'
import { useNow, When } from '@/ui/When'
import { startSentence } from './automation'

/** The order's terms. */
export function Details({ task, agents }: { task: Task; agents: Agent[] }) {
  const locale = useLocale()
  const { t, lang } = locale
  const now = useNow(60_000)
  const once = !task.automation
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
