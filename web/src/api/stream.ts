import { parser } from './sse'

export type StreamState = 'connecting' | 'live' | 'down' | 'resting'

// The server pings every 15 s: a stream silent for three of them is dead,
// whatever the socket says.
const silenceMs = 45_000
const firstRetryMs = 500
const lastRetryMs = 15_000
// How often everything visible is fetched again while the stream is down.
export const pollMs = 15_000
// A tab that nobody sees gives its connection back after a while: browsers allow
// six per server over HTTP/1.1, and people keep dashboards open.
const restAfterMs = 60_000

export type StreamEvent = { id: string; type: string; at: string; subject: { kind: string; id: string }; payload: Record<string, unknown> }

export type StreamHandlers = {
  event(event: StreamEvent): void
  /** Anything may have changed: fetch all again. */
  refetch(): void
  /** The session is over. */
  signedOut(): void
  state(state: StreamState): void
}

/**
 * The one event stream. Read with fetch rather than EventSource: only so can a
 * rebuilt connection say its Last-Event-ID, a silent one be noticed (pings are
 * comments, which EventSource hides), and a 401 be told from a broken line.
 */
export class Stream {
  private lastId: string | undefined
  private abort: AbortController | undefined
  private retries = 0
  private timers: { retry?: number; silence?: number; poll?: number; rest?: number } = {}
  private current: StreamState = 'connecting'
  private stopped = true

  constructor(
    private readonly url: string,
    private readonly handlers: StreamHandlers,
  ) {}

  start() {
    if (!this.stopped) return
    this.stopped = false
    this.retries = 0
    document.addEventListener('visibilitychange', this.onVisibility)
    window.addEventListener('online', this.reconnect)
    void this.connect()
  }

  stop() {
    this.stopped = true
    this.lastId = undefined
    document.removeEventListener('visibilitychange', this.onVisibility)
    window.removeEventListener('online', this.reconnect)
    this.disconnect()
    this.setState('connecting')
  }

  /** Tries now instead of waiting for the next retry. */
  reconnect = () => {
    if (this.stopped || this.current === 'live') return
    this.retries = 0
    this.disconnect()
    void this.connect()
  }

  private onVisibility = () => {
    window.clearTimeout(this.timers.rest)
    if (document.hidden) {
      this.timers.rest = window.setTimeout(() => {
        this.disconnect()
        this.setState('resting')
      }, restAfterMs)
    } else if (this.current !== 'live') {
      this.reconnect()
    }
  }

  private setState(state: StreamState) {
    if (state === this.current) return
    this.current = state
    window.clearInterval(this.timers.poll)
    if (state === 'down') this.timers.poll = window.setInterval(() => this.handlers.refetch(), pollMs)
    this.handlers.state(state)
  }

  private disconnect() {
    this.abort?.abort()
    this.abort = undefined
    for (const timer of Object.values(this.timers)) window.clearTimeout(timer)
  }

  private async connect() {
    const abort = new AbortController()
    this.abort = abort
    const alive = () => {
      window.clearTimeout(this.timers.silence)
      this.timers.silence = window.setTimeout(() => abort.abort(new Error('silent')), silenceMs)
    }
    try {
      alive()
      const headers: Record<string, string> = { Accept: 'text/event-stream' }
      if (this.lastId !== undefined) headers['Last-Event-ID'] = this.lastId
      const response = await fetch(this.url, { headers, signal: abort.signal, cache: 'no-store' })
      if (response.status === 401) {
        this.stop()
        this.handlers.signedOut()
        return
      }
      if (!response.ok || !response.body) throw new Error(`stream: ${response.status}`)
      // Without an id to resume from, what changed before this moment is unknown.
      if (this.lastId === undefined) this.handlers.refetch()
      this.retries = 0
      this.setState('live')
      const feed = parser((m) => this.take(m.event, m.data, m.id))
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        alive()
        feed(value)
      }
    } catch {
      // Every way to lose the stream ends in the retry below.
    }
    window.clearTimeout(this.timers.silence)
    if (this.stopped || this.abort !== abort) return // disconnected on purpose
    this.retry()
  }

  private take(event: string, data: string, id: string | undefined) {
    if (id) this.lastId = id
    if (data === '') return // an id alone: where to resume from
    if (event === 'reset') {
      this.handlers.refetch()
      return
    }
    try {
      this.handlers.event(JSON.parse(data) as StreamEvent)
    } catch {
      this.handlers.refetch() // not understood: something happened
    }
  }

  private retry() {
    // The first try is silent: a server that restarts or a proxy that cuts long
    // connections is no news.
    if (this.retries > 0) this.setState('down')
    const delay = Math.min(lastRetryMs, firstRetryMs * 2 ** this.retries) * (0.75 + Math.random() / 2)
    this.retries++
    this.timers.retry = window.setTimeout(() => void this.connect(), delay)
  }
}
