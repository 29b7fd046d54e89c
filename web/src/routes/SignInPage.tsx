import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Redirect, useLocation, useSearch } from 'wouter'
import { live } from '@/api/live'
import { meQuery } from '@/api/session'
import { SignIn } from '@/features/auth/SignIn'
import { useT } from '@/i18n'
import { wordsOf } from '@/places'
import { useSetLanguage } from './App'

// Only places of our own: an address in a link must not lead a person away.
const inside = (next: string | undefined) => (next && /^\/(?![/\\])/.test(next) ? next : '/')

export function SignInPage() {
  const t = useT()
  const { next, link } = wordsOf(useSearch(), 'next', 'link')
  const [, go] = useLocation()
  const setLanguage = useSetLanguage()
  const { data: me } = useQuery(meQuery)
  useEffect(() => {
    document.title = `${t.signIn.title} · Dogwatch`
  }, [t])
  if (me) return <Redirect to={inside(next)} replace />
  return (
    <SignIn
      notice={link === 'used' ? t.signIn.used : undefined}
      onLanguage={setLanguage}
      onDone={() => {
        live.start()
        go(inside(next), { replace: true })
      }}
    />
  )
}
