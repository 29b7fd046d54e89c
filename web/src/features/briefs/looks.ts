import type { Brief, BriefAction } from '@/api/types'
import { lookup } from '@/i18n'
import { type Dict, en } from '@/i18n/en'
import type { Tone } from '@/ui/Badge'
import type { IconName } from '@/ui/Icon'

type Look = { tone: Tone; icon: IconName }

export const typeLook: Record<Brief['type'], Look> = {
  decision: { tone: 'warn', icon: 'question' },
  result: { tone: 'good', icon: 'check' },
  insight: { tone: 'info', icon: 'light' },
  error: { tone: 'bad', icon: 'alert' },
}

/** The words on a button: the viewer's language where the server used one of its own labels. */
export function actionLabel(t: Dict, action: Pick<BriefAction, 'key' | 'label'>): string {
  const table = t.briefs.actions as Record<string, string>
  const label = action.label.toLowerCase()
  // An agent may name its choices as it likes: only the words of the house are translated.
  const [known] = Object.entries(en.briefs.actions).find(([, word]) => word.toLowerCase() === label) ?? []
  if (known) return table[known]!
  return action.label || (lookup(table, action.key) ?? action.key)
}

/** How a brief was resolved, in words. */
export function resolvedWords(t: Dict, brief: Pick<Brief, 'resolvedAction' | 'actions'>): string {
  const key = brief.resolvedAction ?? ''
  if (key === 'closed' || key === 'auto') return t.briefs.closedItself
  const action = brief.actions.find((a) => a.key === key)
  return t.briefs.resolved(actionLabel(t, action ?? { key, label: '' }))
}
