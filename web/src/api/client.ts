import createClient from 'openapi-fetch'
import { idempotency } from './idempotency'
import { asProblem, problemOf } from './problem'
import type { paths } from './schema.gen'

export const base = '/api/v1'

// The CSRF token belongs to the session; GET /me and sign-in hand it out.
let csrf = ''
export function setCsrfToken(token: string) {
  csrf = token
}

const keys = idempotency()

/** fetch with what every call of the dashboard carries. */
async function send(request: Request): Promise<Response> {
  if (request.method === 'GET' || request.method === 'HEAD') return fetch(request)
  if (csrf) request.headers.set('X-CSRF-Token', csrf)
  if (request.method !== 'POST') return fetch(request)

  const intent = `${request.url}\n${await request.clone().text()}`
  request.headers.set('Idempotency-Key', keys.of(intent))
  const response = await fetch(request) // a throw leaves the key: the call may have arrived
  keys.answered(intent)
  return response
}

// Lists in a query are one parameter with commas, as the contract has them.
const querySerializer = { array: { style: 'form', explode: false } } as const

export const http = createClient<paths>({ baseUrl: base, fetch: send, credentials: 'same-origin', querySerializer })

type Answer<T> = Promise<{ data?: T; error?: unknown; response: Response }>

/** The body of a call that went well; a Problem is thrown otherwise. */
export async function ok<T>(answer: Answer<T>): Promise<T> {
  let result: Awaited<Answer<T>>
  try {
    result = await answer
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw asProblem(error)
  }
  if (!result.response.ok) throw await problemOf(result.response, result.error)
  return result.data as T
}
