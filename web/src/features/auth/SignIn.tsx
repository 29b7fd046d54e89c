import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { asProblem } from '@/api/problem'
import { meQuery, signIn, updateMe } from '@/api/session'
import { isLanguage, type Language, languages, useLocale } from '@/i18n'
import { problemWords } from '@/i18n/problems'
import { Button } from '@/ui/Button'
import { Word } from '@/ui/Code'
import { Field, Input, Select } from '@/ui/Field'
import { Notice } from '@/ui/States'
import styles from './SignIn.module.css'

type Props = { notice?: string; onLanguage: (lang: Language) => void; onDone: () => void }

export function SignIn({ notice, onLanguage, onDone }: Props) {
  const { t, lang } = useLocale()
  const client = useQueryClient()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [chosen, setChosen] = useState<Language>()
  const enter = useMutation({
    mutationFn: async () => {
      const { person } = await signIn(email.trim(), password)
      // A language picked at the door is meant to stay.
      if (chosen && person.language !== chosen) await updateMe({ language: chosen }).catch(() => undefined)
      client.removeQueries({ queryKey: keys.me })
      await client.fetchQuery(meQuery)
    },
    onSuccess: onDone,
  })
  const problem = enter.error ? asProblem(enter.error) : undefined

  return (
    <main className={styles.door}>
      <form
        className={styles.card}
        onSubmit={(e) => {
          e.preventDefault()
          enter.mutate()
        }}
      >
        <header className={styles.head}>
          <img src="/favicon.svg" alt="" width={44} height={44} />
          <h1>{t.app.name}</h1>
          <p>{t.signIn.hint}</p>
        </header>
        {notice && <Notice tone="warn" icon="alert">{notice}</Notice>}
        <Field label={t.signIn.email}>
          {(w) => <Input {...w} type="email" name="email" autoComplete="username" required autoFocus value={email} onChange={(e) => setEmail(e.target.value)} />}
        </Field>
        <Field label={t.signIn.password}>
          {(w) => <Input {...w} type="password" name="password" autoComplete="current-password" required value={password} onChange={(e) => setPassword(e.target.value)} />}
        </Field>
        {problem && <Notice tone="bad" icon="alert">{problem.status === 401 ? t.signIn.wrong : problemWords(t, problem).text}</Notice>}
        <Button type="submit" look="primary" busy={enter.isPending}>{t.signIn.submit}</Button>
        <p className={styles.lost}>{t.signIn.lost} <Word>dogwatch admin reset</Word></p>
        <Select
          small
          aria-label={t.signIn.language}
          value={lang}
          options={Object.entries(languages) as [Language, string][]}
          onPick={(value) => {
            if (!isLanguage(value)) return
            setChosen(value)
            onLanguage(value)
          }}
        />
      </form>
    </main>
  )
}
