import type { Operation, Topic } from '@/api/types'
import { lookup, useT } from '@/i18n'
import { Badge } from '@/ui/Badge'
import { When } from '@/ui/When'
import { operationLook, topicLook } from './looks'

export function RunBadge({ topic, plain }: { topic: Pick<Topic, 'status' | 'waitingFor' | 'reasonDetail' | 'reason'>; plain?: boolean }) {
  const t = useT()
  if (topic.status === 'running' && topic.waitingFor) return <Badge tone="warn" icon="question" plain={plain}>{lookup(t.topics.waitingFor, topic.waitingFor) ?? topic.waitingFor}</Badge>
  const look = topicLook[topic.status]
  return <Badge tone={look.tone} icon={look.icon} moving={look.moving} plain={plain} title={lookup(t.reasons, topic.reasonDetail ?? topic.reason)}>{t.topics.status[topic.status]}</Badge>
}

export function OperationBadge({ operation, plain }: { operation: Pick<Operation, 'status' | 'beginAt' | 'try'>; plain?: boolean }) {
  const t = useT()
  // Between two tries nothing is wrong with the workers: the provider gets its time.
  if (operation.status === 'idle' && operation.beginAt) return <Badge tone="warn" icon="clock" plain={plain}>{t.topics.waitsForTry(operation.try)} <When at={operation.beginAt} both /></Badge>
  const look = operationLook[operation.status]
  return <Badge tone={look.tone} icon={look.icon} moving={look.moving} plain={plain}>{t.topics.operation[operation.status]}</Badge>
}
