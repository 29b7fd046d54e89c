// The addresses of the pages, in one place: links are made from these.

type Query = Record<string, string | number | undefined>

/** An address with its filters; what is not set is left out. */
export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== '') search.set(key, String(value))
  const text = search.toString()
  return text ? `${path}?${text}` : path
}

const part = encodeURIComponent

export const to = {
  today: (query: { hours?: number } = {}) => withQuery('/', query),
  inbox: (query: { state?: string; type?: string } = {}) => withQuery('/inbox', query),
  brief: (brief: string, query: { state?: string; type?: string } = {}) => withQuery(`/inbox/${part(brief)}`, query),
  tasks: (query: Query = {}) => withQuery('/tasks', query),
  newTask: () => '/tasks/new',
  task: (task: string) => `/tasks/${part(task)}`,
  editTask: (task: string) => `/tasks/${part(task)}/edit`,
  topic: (topic: string) => `/topics/${part(topic)}`,
  documents: (query: { q?: string; folder?: string } = {}) => withQuery('/documents', query),
  newDocument: () => '/documents/new',
  document: (doc: string, query: { version?: number } = {}) => withQuery(`/documents/${part(doc)}`, query),
  editDocument: (doc: string) => `/documents/${part(doc)}/edit`,
  schedule: (query: { state?: string; reason?: string; task?: string } = {}) => withQuery('/schedule', query),
  settings: (part?: 'workspace' | 'calendars' | 'agents') => (part ? `/settings/${part}` : '/settings'),
  signIn: (next?: string) => withQuery('/signin', { next }),
}

/** The named words of a query string. Anything else in it is not ours. */
export function wordsOf<K extends string>(search: string, ...keys: K[]): Partial<Record<K, string>> {
  const params = new URLSearchParams(search)
  const out: Partial<Record<K, string>> = {}
  for (const key of keys) {
    const value = params.get(key)
    if (value) out[key] = value
  }
  return out
}

export function integerOf(search: string, key: string): number | undefined {
  const value = Number(new URLSearchParams(search).get(key))
  return Number.isInteger(value) && value > 0 ? value : undefined
}
