import { useQuery } from '@tanstack/react-query'
import { conversationQuery } from '@/api/runs'
import type { Message } from '@/api/types'
import { useDelta } from '@/api/live'
import { useT } from '@/i18n'
import { Answer } from '@/ui/Answer'
import { Badge } from '@/ui/Badge'
import { Code } from '@/ui/Code'
import { cx } from '@/ui/cx'
import { Disclosure } from '@/ui/Disclosure'
import { Icon, type IconName } from '@/ui/Icon'
import { Markdown } from '@/ui/Markdown'
import { Nothing } from '@/ui/States'
import { counted, gist } from './calls'
import styles from './Conversation.module.css'

const icons: Record<Message['role'], IconName> = { system: 'gear', user: 'list', assistant: 'light', tool: 'loop' }

/** All that was said in a run; with an open operation also what is being written. */
export function Conversation({ topic, open, lastStep }: { topic: string; open: string | undefined; lastStep: number }) {
  const t = useT()
  const query = useQuery(conversationQuery(topic))
  const delta = useDelta(open)
  const writing = delta && delta.step > lastStep ? delta : undefined
  return (
    <Answer query={query}>
      {(messages) =>
        messages.length === 0 && !writing ? <Nothing>{t.topics.conversationEmpty}</Nothing> : (
          <ol className={styles.talk}>
            {messages.map((message) => <li key={message.id} className={message.role === 'tool' ? styles.close : undefined}><Said message={message} results={messages} /></li>)}
            {writing && (
              <li className={cx(styles.said, styles.assistant)}>
                <Head role="assistant" label={writing.text ? t.topics.writing : t.topics.thinking} />
                <div className={styles.growing}>{writing.text || writing.reasoning}</div>
              </li>
            )}
          </ol>
        )
      }
    </Answer>
  )
}

function Head({ role, label }: { role: Message['role']; label?: string }) {
  const t = useT()
  return <div className={styles.head}><Icon name={icons[role]} size={15} /><strong>{t.topics.roles[role]}</strong>{label && <span>{label}</span>}</div>
}

function Said({ message, results }: { message: Message; results: Message[] }) {
  const t = useT()
  if (message.role === 'tool') {
    const call = results.flatMap((m) => m.toolCalls).find((c) => c.id === message.toolCallId)
    return (
      <div className={cx(styles.said, styles.tool)}>
        <Disclosure summary={<><code>{call?.name ?? t.topics.roles.tool}</code> {call && <span className={styles.gist}>{gist(call.arguments)}</span>} {message.isError && <Badge tone="bad">{t.topics.toolFailed}</Badge>}</>}>
          <div className={styles.pair}>
            {call && <div><h4>{t.topics.arguments}</h4><Code text={pretty(call.arguments)} /></div>}
            <div><h4>{t.topics.result}</h4><Code text={pretty(message.content)} /></div>
          </div>
        </Disclosure>
      </div>
    )
  }
  if (message.role === 'system' || message.role === 'user') {
    return (
      <div className={styles.said}>
        <Disclosure summary={<Head role={message.role} />}>
          <Code text={message.content} />
        </Disclosure>
      </div>
    )
  }
  // Calls that have been answered stand below with their results.
  const open = message.toolCalls.filter((call) => !results.some((m) => m.toolCallId === call.id))
  return (
    <div className={cx(styles.said, styles.assistant)}>
      <Head role="assistant" label={message.model ?? undefined} />
      {message.reasoning && <Disclosure summary={t.topics.thinking}><Markdown small text={message.reasoning} /></Disclosure>}
      {message.content && <Markdown text={message.content} />}
      {open.length > 0 && <div className={styles.calls}>{counted(open).map((name) => <Badge key={name} icon="loop">{name}</Badge>)}</div>}
    </div>
  )
}

/** JSON laid out; anything else as it is. */
function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text) || text.length > 100_000) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
