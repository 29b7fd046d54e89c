import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { cancelTopic, conversationQuery, stepsQuery, topicQuery } from '@/api/runs'
import type { Topic } from '@/api/types'
import { Conversation } from '@/features/topics/Conversation'
import { HandoffView } from '@/features/topics/HandoffView'
import { LiveRun } from '@/features/topics/LiveRun'
import { isOpen, lastOperation } from '@/features/topics/looks'
import { RunBadge } from '@/features/topics/RunStatus'
import { Steps } from '@/features/topics/Steps'
import { lookup, useLocale } from '@/i18n'
import { money } from '@/i18n/format'
import { to } from '@/places'
import { Answer } from '@/ui/Answer'
import { Button } from '@/ui/Button'
import { Word } from '@/ui/Code'
import { Confirm } from '@/ui/Dialog'
import { Link } from '@/ui/Link'
import { Markdown } from '@/ui/Markdown'
import { Column, Columns, Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { Facts } from '@/ui/Rows'
import { Bones } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import { Took, When } from '@/ui/When'
import { mayOperate, useMe } from './me'

export function TopicPage({ topic }: { topic: string }) {
  const query = useQuery(topicQuery(topic))
  const talk = useQuery(conversationQuery(topic))
  const operation = query.data && lastOperation(query.data)
  const steps = useQuery({ ...stepsQuery(operation?.id ?? ''), enabled: operation !== undefined })
  // The page is shown as a whole: parts that come one by one push each other down.
  const waits = talk.isPending || (operation !== undefined && steps.isPending)
  const bones = <Panel><Bones rows={8} height={48} /></Panel>
  return <Answer query={query} bones={bones}>{(data) => (waits ? bones : <TopicView topic={data} />)}</Answer>
}

function TopicView({ topic }: { topic: Topic }) {
  const { t, lang } = useLocale()
  const me = useMe()
  const operation = lastOperation(topic)
  const open = operation && isOpen(operation) ? operation : undefined
  const steps = useQuery({ ...stepsQuery(operation?.id ?? ''), enabled: operation !== undefined }).data
  const reason = topic.reasonDetail ?? topic.reason
  return (
    <Page
      title={topic.handoff?.title ?? t.topics.run(topic.seq)}
      over={<><Link to={to.task(topic.task)}>{topic.task}</Link> · {t.topics.run(topic.seq)}</>}
      under={<><RunBadge topic={topic} />{reason && reason !== 'done' && <span>{lookup(t.reasons, reason)} <Word>{reason}</Word></span>}</>}
      actions={topic.status === 'running' && mayOperate(me) && <Stop topic={topic.id} />}
    >
      {topic.error && <Panel><p>{topic.error}</p></Panel>}
      <Columns>
        <Column>
          {open && <Panel title={t.topics.liveTitle}><LiveRun operation={open} /></Panel>}
          <Panel title={t.topics.handoff} hint={t.topics.handoffHint}>
            {topic.handoff ? <HandoffView handoff={topic.handoff} /> : <p>{topic.status === 'running' ? t.topics.handoffLater : t.topics.handoffPending}</p>}
          </Panel>
          <Panel title={t.topics.conversation}><Conversation topic={topic.id} open={open?.id} lastStep={steps?.at(-1)?.seq ?? 0} /></Panel>
        </Column>
        <Column>
          <Panel title={t.tasks.details}>
            <Facts
              items={[
                [t.topics.origin, t.tasks.origin[topic.origin] ?? topic.origin],
                [t.topics.started, <When key="s" at={topic.startedAt} seconds />],
                [t.topics.ended, topic.completedAt && <When key="e" at={topic.completedAt} seconds />],
                [t.topics.took, <Took key="t" from={topic.startedAt} to={topic.completedAt} />],
                [t.topics.cost, <span key="c" title={topic.costUsd === null ? t.common.unknownCost : undefined}>{money(lang, topic.costUsd)}</span>],
                [t.topics.model, operation && <code key="m">{operation.model}</code>],
                [t.topics.continues, topic.continues && <Link key="l" to={to.topic(topic.continues)}>{t.topics.openRun}</Link>],
              ]}
            />
          </Panel>
          {topic.documents.length > 0 && (
            <Panel title={t.topics.wrote}><ul>{topic.documents.map((doc) => <li key={doc.id}><Link to={to.document(doc.id)}>{doc.title}</Link></li>)}</ul></Panel>
          )}
          <Panel title={t.topics.steps}>{topic.operations.map((o) => <Steps key={o.id} operation={o} many={topic.operations.length > 1} />)}</Panel>
          {topic.finalText && !topic.handoff && <Panel title={t.topics.result}><Markdown text={topic.finalText} /></Panel>}
        </Column>
      </Columns>
    </Page>
  )
}

function Stop({ topic }: { topic: string }) {
  const { t } = useLocale()
  const client = useQueryClient()
  const [asked, setAsked] = useState(false)
  const stop = useMutation({
    mutationFn: () => cancelTopic(topic),
    onSuccess: () => toast(t.topics.stopped),
    onError: (error) => toastProblem(t, error),
    onSettled: () => {
      setAsked(false)
      return client.invalidateQueries({ queryKey: keys.topic(topic) })
    },
  })
  return (
    <>
      <Button icon="stop" onClick={() => setAsked(true)}>{t.topics.stop}</Button>
      {asked && <Confirm danger title={t.topics.stopTitle} text={t.topics.stopHint} confirm={t.topics.stop} busy={stop.isPending} onConfirm={() => stop.mutate()} onClose={() => setAsked(false)} />}
    </>
  )
}
