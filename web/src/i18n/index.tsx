import { createContext, type ReactNode, useContext, useEffect, useMemo } from 'react'
import { type Dict, en } from './en'

export const languages = { en: 'English', 'zh-CN': '简体中文' } as const
export type Language = keyof typeof languages

const loaded: Partial<Record<Language, Dict>> = { en }

/** Fetches a language's dictionary; English is always there. */
export async function loadLanguage(lang: Language): Promise<void> {
  if (lang === 'zh-CN') loaded[lang] ??= (await import('./zh-CN')).zhCN
}

export const isLanguage = (value: unknown): value is Language => typeof value === 'string' && value in languages

/** What a browser's wishes come to among the languages there are. */
export function pickLanguage(wishes: readonly string[]): Language {
  for (const wish of wishes) {
    if (/^zh\b/i.test(wish)) return 'zh-CN'
    if (/^en\b/i.test(wish)) return 'en'
  }
  return 'en'
}

export type Locale = { lang: Language; zone: string; t: Dict }

const Context = createContext<Locale>({ lang: 'en', zone: 'UTC', t: en })

export function LocaleProvider({ lang, zone, children }: { lang: Language; zone: string; children: ReactNode }) {
  const value = useMemo(() => ({ lang, zone, t: loaded[lang] ?? en }), [lang, zone])
  useEffect(() => {
    document.documentElement.lang = lang
  }, [lang])
  return <Context value={value}>{children}</Context>
}

export const useLocale = () => useContext(Context)
export const useT = () => useContext(Context).t

/** A word of the server's for which the dictionary may or may not have a sentence. */
export function lookup(table: Record<string, string>, word: string | null | undefined): string | undefined {
  return word && Object.hasOwn(table, word) ? table[word] : undefined
}
