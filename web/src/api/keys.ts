// Query keys. The first part is the kind of thing, the second which one: an event
// finds what it makes stale by these two.
export const keys = {
  me: ['me'] as const,
  tokens: ['tokens'] as const,
  agents: ['agents'] as const,
  calendars: ['calendars'] as const,
  workspace: ['workspace', 'here'] as const,
  openRuns: ['workspace', 'here', 'open'] as const,
  tasks: (filters: object = {}) => ['tasks', filters] as const,
  task: (ref: string) => ['task', ref.toUpperCase()] as const,
  taskPart: (ref: string, part: 'why' | 'ticks' | 'comments' | 'documents' | 'topics') => ['task', ref.toUpperCase(), part] as const,
  ticks: (filters: object) => ['ticks', filters] as const,
  topic: (id: string) => ['topic', id] as const,
  conversation: (id: string) => ['topic', id, 'conversation'] as const,
  operations: (filters: object) => ['operations', filters] as const,
  steps: (operation: string) => ['operation', operation, 'steps'] as const,
  briefs: (filters: object) => ['briefs', filters] as const,
  brief: (ref: string) => ['brief', ref.toUpperCase()] as const,
  documents: (filters: object) => ['documents', filters] as const,
  document: (id: string) => ['document', id] as const,
  versions: (id: string) => ['document', id, 'versions'] as const,
}
