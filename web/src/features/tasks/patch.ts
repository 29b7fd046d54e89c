import type { Task, TaskPatch } from '@/api/types'

type Editable = keyof TaskPatch & keyof Task

/** A field as it compares: what the server adds to an answer does not count. */
function comparable(field: string, value: unknown): string {
  if (field === 'automation' && typeof value === 'object' && value !== null) {
    const { nextFires: _, ...kept } = value as NonNullable<Task['automation']>
    return stable(kept)
  }
  return stable(value)
}

/** JSON that does not depend on the order of keys; absent and null are the same. */
function stable(value: unknown): string {
  return JSON.stringify(value ?? null, (_, v: unknown) =>
    typeof v === 'object' && v !== null && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).filter(([, x]) => x !== undefined).sort(([a], [b]) => a.localeCompare(b))) : v,
  )
}

/** Only what an edit changed: the rest stays as it is on the server. */
export function changed(task: Task, edited: TaskPatch): TaskPatch {
  return Object.fromEntries(Object.entries(edited).filter(([field, value]) => comparable(field, value) !== comparable(field, task[field as Editable]))) as TaskPatch
}

/**
 * Whether an edit that was made on one state of a task would undo what changed
 * since. A task's version also grows when it runs; that is no reason to refuse a
 * person's words.
 */
export function collides(patch: TaskPatch, madeOn: Task, now: Task): boolean {
  return Object.keys(patch).some((field) => comparable(field, madeOn[field as Editable]) !== comparable(field, now[field as Editable]))
}
