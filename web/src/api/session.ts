import { queryOptions } from '@tanstack/react-query'
import { http, ok, setCsrfToken } from './client'
import { keys } from './keys'
import { Problem } from './problem'
import type { Me } from './types'

/** Who is signed in; null when nobody is. */
export const meQuery = queryOptions({
  queryKey: keys.me,
  queryFn: async ({ signal }): Promise<Me | null> => {
    try {
      const me = await ok(http.GET('/me', { signal }))
      setCsrfToken(me.csrfToken)
      return me
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null
      throw error
    }
  },
  staleTime: Infinity,
})

export async function signIn(email: string, password: string) {
  const session = await ok(http.POST('/auth/login', { body: { email, password } }))
  setCsrfToken(session.csrfToken)
  return session
}

export const signOut = () => ok(http.POST('/auth/logout', {}))

export type ProfilePatch = { name?: string; timezone?: string; language?: Me['person']['language']; password?: string }
export const updateMe = (body: ProfilePatch) => ok(http.PATCH('/me', { body }))

export const tokensQuery = queryOptions({
  queryKey: keys.tokens,
  queryFn: async ({ signal }) => (await ok(http.GET('/tokens', { signal, params: { query: { limit: 200 } } }))).items,
})

export const createToken = (body: { name: string; role: Me['role']; expiresAt?: string }) => ok(http.POST('/tokens', { body }))
export const revokeToken = (id: string) => ok(http.DELETE('/tokens/{id}', { params: { path: { id } } }))

export const agentsQuery = queryOptions({
  queryKey: keys.agents,
  queryFn: async ({ signal }) => (await ok(http.GET('/agents', { signal, params: { query: { limit: 200 } } }))).items,
})
