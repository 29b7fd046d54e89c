import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react'
import { meQuery } from '@/api/session'
import { isLanguage, type Language, loadLanguage, LocaleProvider, pickLanguage } from '@/i18n'
import { browserZone } from '@/i18n/format'
import { Toasts } from '@/ui/Toasts'

const LanguageContext = createContext<(lang: Language) => void>(() => undefined)

/** Changes the language of this page, before or without signing in. */
export const useSetLanguage = () => useContext(LanguageContext)

/** What every page stands in: language, clock, messages. */
export function App({ children }: { children: ReactNode }) {
  const { data: me } = useQuery(meQuery)
  const saved = me && isLanguage(me.person.language) ? me.person.language : undefined
  const [lang, setLang] = useState<Language>(saved ?? pickLanguage(navigator.languages))
  const change = useCallback((next: Language) => {
    loadLanguage(next).then(
      () => setLang(next),
      () => undefined, // offline: the language stays
    )
  }, [])
  useEffect(() => {
    if (saved) change(saved)
  }, [saved, change])
  return (
    <LanguageContext value={change}>
      <LocaleProvider lang={lang} zone={me?.person.timezone || browserZone()}>
        {children}
        <Toasts />
      </LocaleProvider>
    </LanguageContext>
  )
}
