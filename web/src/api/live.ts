import { MutationCache, type Query, QueryCache, QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { base } from './client'
import { Deltas, type Delta } from './deltas'
import { keys } from './keys'
import { Problem } from './problem'
import { type Stale, staleBy, touches } from './staleness'
import { Stream, type StreamState } from './stream'

/** Any call may be the one that finds the session over. */
function onError(error: unknown) {
  if (error instanceof Problem && error.status === 401 && queries.getQueryData(keys.me)) void queries.invalidateQueries({ queryKey: keys.me })
}

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      // The event stream says when something is stale; time does not.
      staleTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => !(error instanceof Problem && error.status >= 400 && error.status < 500) && failures < 2,
      retryDelay: (failures) => 500 * 2 ** failures,
    },
    mutations: { retry: false },
  },
})

// A burst of events is one round of fetches: the first after a blink, the next no
// sooner than half a second later.
const firstFlushMs = 30
const nextFlushMs = 500

let pending: Stale[] | 'all' = []
let timer: number | undefined
let flushedAt = 0

function markStale(stale: Stale[] | null) {
  if (stale?.length === 0) return
  pending = pending === 'all' || stale === null ? 'all' : [...pending, ...stale]
  timer ??= window.setTimeout(flush, Math.max(firstFlushMs, flushedAt + nextFlushMs - Date.now()))
}

function idOf(kind: string, ref: string): string | undefined {
  return queries.getQueryData<{ id?: string }>([kind, ref])?.id
}

function flush() {
  const stale = pending
  pending = []
  timer = undefined
  flushedAt = Date.now()
  const match = (query: Query) => stale === 'all' || stale.some((s) => touches(s, query.queryKey, idOf))
  void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== 'me' && match(query) })
}

const deltas = new Deltas()
let state: StreamState = 'connecting'
const watchers = new Set<() => void>()

const stream = new Stream(`${base}/events`, {
  event(event) {
    deltas.take(event)
    markStale(staleBy(event))
  },
  refetch: () => markStale(null),
  signedOut: () => void queries.invalidateQueries({ queryKey: keys.me }),
  state(next) {
    state = next
    watchers.forEach((watcher) => watcher())
  },
})

export const live = {
  start: () => stream.start(),
  reconnect: () => stream.reconnect(),
  /** Forgets all that was fetched: somebody else may sign in next. */
  end() {
    stream.stop()
    deltas.clear()
    queries.clear()
  },
}

export function useLiveState(): StreamState {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => void watchers.delete(watcher)
    },
    () => state,
  )
}

/** What an operation's model is writing right now. */
export function useDelta(operation: string | undefined): Delta | undefined {
  return useSyncExternalStore(deltas.subscribe, () => (operation ? deltas.get(operation) : undefined))
}
