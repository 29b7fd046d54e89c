import type { StreamEvent } from './stream'

/**
 * What an event makes stale: all queries of a kind, those of one thing, or only
 * some parts of it; `self` is the thing without its parts.
 */
export type Stale = { kind: string; id?: string; parts?: string[] }

const whole = (...kinds: string[]): Stale[] => kinds.map((kind) => ({ kind }))

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * The event reducer: an event never carries state into the dashboard, it only
 * says what to fetch again. A kind it does not know makes everything stale
 * (null): a newer server stays right with an older page.
 */
export function staleBy(event: StreamEvent): Stale[] | null {
  const [kind, what] = event.type.split('.')
  const { id } = event.subject
  // Events of things that hang on a task or a topic say which, where they can;
  // where they do not, every open page of that kind looks again.
  const task = (...parts: string[]): Stale => ({ kind: 'task', id: text(event.payload?.taskId), parts })
  const topic: Stale = { kind: 'topic', id: text(event.payload?.topicId) }

  switch (kind) {
    case 'task':
      if (event.payload?.commentId) return [{ kind: 'task', id, parts: ['self', 'comments'] }]
      if (event.payload?.documentId) return [{ kind: 'task', id, parts: ['self', 'documents'] }]
      return [{ kind: 'task', id, parts: ['self', 'why'] }, ...whole('tasks')]
    case 'tick':
      return [task('self', 'why', 'ticks'), ...whole('ticks', 'tasks')]
    case 'topic':
      // A run that begins takes up the comments.
      return [{ kind: 'topic', id }, task('self', 'why', 'ticks', 'topics', 'comments'), ...whole('operations', 'tasks'), { kind: 'workspace', parts: ['open'] }]
    case 'operation':
      return [{ kind: 'operation', id }, topic, task('topics', 'why'), ...whole('operations')]
    case 'step':
      if (what === 'delta') return []
      return [
        { kind: 'operation', id: text(event.payload?.operationId) ?? (event.subject.kind === 'operation' ? id : undefined) },
        topic,
        ...(event.payload?.kind === 'tools' ? whole('documents', 'document') : []), // a tool may have written one
      ]
    case 'brief':
      return [{ kind: 'brief', id }, task('self', 'why', 'comments'), ...whole('briefs')]
    case 'document':
      return [{ kind: 'document', id }, ...whole('documents')]
    case 'agent':
      return whole('agents')
    case 'calendar':
      return whole('calendars')
    case 'workspace':
      return null
    // Nothing on the pages shows these yet.
    case 'invocation':
    case 'approval':
    case 'queue':
      return []
    default:
      return null
  }
}

/**
 * Whether a query is made stale. A page addresses a task as T-12 while events
 * carry its id, so the id of what a query holds comes from outside; unknown
 * means look again.
 */
export function touches(stale: Stale, queryKey: readonly unknown[], idOf: (kind: string, ref: string) => string | undefined): boolean {
  const [kind, ref, part = 'self'] = queryKey
  if (kind !== stale.kind) return false
  if (stale.parts && !stale.parts.includes(part as string)) return false
  if (stale.id === undefined || typeof ref !== 'string') return true
  if (ref.toLowerCase() === stale.id.toLowerCase()) return true
  if (kind !== 'task' && kind !== 'brief') return false // addressed by id only
  const known = idOf(kind, ref)
  return known === undefined || known === stale.id
}
