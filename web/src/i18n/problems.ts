import type { Dict } from './en'

type ProblemLike = { status: number; code: string; detail: string; retryAfterSeconds?: number }

const isProblem = (error: unknown): error is ProblemLike =>
  typeof error === 'object' && error !== null && 'status' in error && 'code' in error && 'detail' in error

/** A failed call in words for people. The server's own sentence wins where it has one to say. */
export function problemWords(t: Dict, error: unknown): { text: string; code?: string } {
  if (!isProblem(error)) return { text: error instanceof Error ? error.message : String(error) }
  if (error.status === 0) return { text: t.errors.unreachable }
  if (error.status === 412) return { text: t.errors.stale, code: error.code }
  if (error.status === 429) return { text: t.errors.rateLimited(error.retryAfterSeconds ?? 60), code: error.code }
  if (error.status === 403) return { text: t.errors.forbidden, code: error.code }
  return { text: error.detail || t.errors.title, code: error.code }
}
