import type { Operation, Topic } from '@/api/types'
import type { Tone } from '@/ui/Badge'
import type { IconName } from '@/ui/Icon'

type Look = { tone: Tone; icon: IconName; moving?: boolean }

export const topicLook: Record<Topic['status'], Look> = {
  running: { tone: 'good', icon: 'pulse', moving: true },
  completed: { tone: 'good', icon: 'check' },
  failed: { tone: 'bad', icon: 'alert' },
  timeout: { tone: 'bad', icon: 'clock' },
  canceled: { tone: 'neutral', icon: 'x' },
}

export const operationLook: Record<Operation['status'], Look> = {
  idle: { tone: 'neutral', icon: 'clock' },
  running: { tone: 'good', icon: 'pulse', moving: true },
  waiting_for_human: { tone: 'warn', icon: 'question' },
  waiting_for_async_tool: { tone: 'info', icon: 'clock' },
  done: { tone: 'good', icon: 'check' },
  error: { tone: 'bad', icon: 'alert' },
  interrupted: { tone: 'neutral', icon: 'stop' },
}

const open: Operation['status'][] = ['idle', 'running', 'waiting_for_human', 'waiting_for_async_tool']
export const isOpen = (operation: Pick<Operation, 'status'>) => open.includes(operation.status)

/** The operation that counts: retries within a run are further operations, the last one decides. */
export const lastOperation = (topic: Topic): Operation | undefined => topic.operations?.at(-1)
