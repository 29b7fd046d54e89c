import type { Schemas } from './types'

type FieldError = NonNullable<Schemas['Problem']['errors']>[number]

/** A refused or failed call: what the server said (RFC 9457), or that it could not be reached. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly fields: FieldError[] = [],
    /** From Retry-After. */
    readonly retryAfterSeconds?: number,
  ) {
    super(detail || code)
    this.name = 'Problem'
  }

  /**
   * What is wrong with one field of a form. A location counts for the field it
   * names and for everything inside: `body.automation` answers for
   * `body.automation.pattern`.
   */
  field(name: string): string | undefined {
    const wanted = `body.${name}`
    return this.fields.find((f) => f.location === wanted || f.location?.startsWith(`${wanted}.`) || f.location?.startsWith(`${wanted}[`))?.message
  }

  /** True when some field of the form says what is wrong. */
  covers(names: string[]): boolean {
    return names.some((n) => this.field(n) !== undefined)
  }
}

export const unreachable = 'unreachable'

/** Reads the problem out of an answer that is not ok. Never throws. */
export async function problemOf(response: Response, body?: unknown): Promise<Problem> {
  const said = (typeof body === 'object' && body !== null ? body : {}) as Partial<Schemas['Problem']>
  const after = Number(response.headers.get('Retry-After'))
  return new Problem(
    response.status,
    said.code ?? `http_${response.status}`,
    said.detail ?? said.title ?? response.statusText,
    said.errors ?? [],
    Number.isFinite(after) && after > 0 ? after : undefined,
  )
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return new Problem(0, unreachable, error instanceof Error ? error.message : String(error))
}
