import type { Task, Tick } from '@/api/types'
import type { Tone } from '@/ui/Badge'
import type { IconName } from '@/ui/Icon'

type Look = { tone: Tone; icon: IconName; moving?: boolean }

export const statusLook: Record<Task['status'], Look> = {
  backlog: { tone: 'neutral', icon: 'minus' },
  scheduled: { tone: 'info', icon: 'clock' },
  running: { tone: 'good', icon: 'pulse', moving: true },
  paused: { tone: 'warn', icon: 'pause' },
  completed: { tone: 'good', icon: 'check' },
  failed: { tone: 'bad', icon: 'alert' },
  canceled: { tone: 'neutral', icon: 'x' },
}

export const statuses = Object.keys(statusLook) as Task['status'][]
export const startModes = ['heartbeat', 'schedule', 'every', 'once', 'none'] as const
export const priorities = ['urgent', 'high', 'normal', 'low', 'none'] as const

export const tickLook: Record<Tick['state'], Look> = {
  pending: { tone: 'info', icon: 'clock' },
  queued: { tone: 'info', icon: 'clock' },
  dispatched: { tone: 'good', icon: 'pulse', moving: true },
  ran: { tone: 'good', icon: 'check' },
  skipped: { tone: 'neutral', icon: 'skip' },
  missed: { tone: 'warn', icon: 'alert' },
  coalesced: { tone: 'neutral', icon: 'loop' },
  canceled: { tone: 'neutral', icon: 'x' },
}

// What may be done comes from the server with the task (`actions`); here is the
// order of the buttons, and which one leads.
export type Act = 'run' | 'resume' | 'pause' | 'complete' | 'reopen' | 'cancel'
export const acts: { act: Act; icon: IconName }[] = [
  { act: 'resume', icon: 'play' },
  { act: 'run', icon: 'play' },
  { act: 'reopen', icon: 'refresh' },
  { act: 'pause', icon: 'pause' },
  { act: 'complete', icon: 'check' },
  { act: 'cancel', icon: 'stop' },
]

// Beyond this a planned time counts as late enough to say so.
export const lateMs = 5000
