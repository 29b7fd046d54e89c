import type { StreamEvent } from './stream'

/** Text of a step as the model writes it; gone once the step is recorded. */
export type Delta = { step: number; text: string; reasoning: string }

// Enough to read along; the whole text comes with the step.
const keep = 40_000

/** Live buffers by operation. Kept outside React: a model writes faster than pages render. */
export class Deltas {
  private buffers = new Map<string, Delta>()
  private listeners = new Set<() => void>()
  private scheduled = false

  get = (operation: string): Delta | undefined => this.buffers.get(operation)

  subscribe = (listener: () => void) => {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  take(event: StreamEvent) {
    const p = event.payload ?? {}
    const operation = typeof p.operationId === 'string' ? p.operationId : event.subject.id
    const step = typeof p.seq === 'number' ? p.seq : 0
    if (event.type === 'step.added') {
      const open = this.buffers.get(operation)
      if (open && open.step <= step) this.buffers.delete(operation)
    } else if (event.type === 'step.delta') {
      const open = this.buffers.get(operation)
      if (open && step < open.step) return // late: that step is over
      const text = typeof p.text === 'string' ? p.text : ''
      const reasoning = typeof p.reasoning === 'string' ? p.reasoning : ''
      const same = open?.step === step && p.restart !== true ? open : { step, text: '', reasoning: '' }
      this.buffers.set(operation, { step, text: (same.text + text).slice(-keep), reasoning: (same.reasoning + reasoning).slice(-keep) })
    } else if (event.type === 'operation.changed' || event.type === 'topic.ended') {
      if (p.completed === true || event.type === 'topic.ended') this.buffers.delete(operation)
      else return
    } else {
      return
    }
    this.announce()
  }

  clear() {
    this.buffers.clear()
    this.announce()
  }

  // At most once a frame.
  private announce() {
    if (this.scheduled) return
    this.scheduled = true
    const tell = () => {
      this.scheduled = false
      this.listeners.forEach((listener) => listener())
    }
    if (typeof requestAnimationFrame === 'function') requestAnimationFrame(tell)
    else queueMicrotask(tell)
  }
}
