import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { asProblem } from '@/api/problem'
import { type ProfilePatch, updateMe } from '@/api/session'
import type { Me } from '@/api/types'
import { isLanguage, type Language, languages, useT } from '@/i18n'
import { browserZone } from '@/i18n/format'
import { Button } from '@/ui/Button'
import { Field, Input, Select } from '@/ui/Field'
import { Panel } from '@/ui/Panel'
import { Facts } from '@/ui/Rows'
import { Failure } from '@/ui/States'
import { toast } from '@/ui/Toasts'
import { ZoneField } from '@/ui/ZoneField'
import styles from './Settings.module.css'

function useSave(done: () => void) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (patch: ProfilePatch) => updateMe(patch),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.me })
      done()
    },
  })
}

export function Profile({ me }: { me: Me }) {
  const t = useT()
  const [name, setName] = useState(me.person.name)
  const [zone, setZone] = useState(me.person.timezone || browserZone())
  const [language, setLanguage] = useState<Language>(isLanguage(me.person.language) ? me.person.language : 'en')
  const save = useSave(() => toast(t.common.saved))
  const problem = save.error ? asProblem(save.error) : undefined
  const fields = ['name', 'timezone', 'language']
  return (
    <Panel title={t.settings.profile}>
      <form className={styles.form} onSubmit={(e) => { e.preventDefault(); save.mutate({ name: name.trim(), timezone: zone.trim(), language }) }}>
        <Field label={t.settings.name} error={problem?.field('name')}>{(w) => <Input {...w} required autoComplete="name" maxLength={200} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <Field label={t.settings.language} error={problem?.field('language')}>{(w) => <Select {...w} value={language} options={Object.entries(languages) as [Language, string][]} onPick={setLanguage} />}</Field>
        <div>
          <ZoneField label={t.settings.zone} value={zone} onChange={setZone} error={problem?.field('timezone')} />
          <p className={styles.hint}>
            {t.settings.zoneHint}
            {zone !== browserZone() && <Button small look="quiet" onClick={() => setZone(browserZone())}>{t.settings.zoneBrowser(browserZone())}</Button>}
          </p>
        </div>
        <Facts items={[[t.settings.email, me.person.email], [t.settings.role, t.settings.roles[me.role]], [t.settings.workspace, me.workspace.name]]} />
        {problem && !problem.covers(fields) && <Failure error={problem} />}
        <div><Button type="submit" look="primary" busy={save.isPending}>{t.common.save}</Button></div>
      </form>
    </Panel>
  )
}

export function Password({ email }: { email: string }) {
  const t = useT()
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const save = useSave(() => {
    setPassword('')
    setAgain('')
    toast(t.settings.passwordChanged)
  })
  const problem = save.error ? asProblem(save.error) : undefined
  const differs = again !== '' && again !== password
  return (
    <Panel title={t.settings.passwordTitle}>
      <form className={styles.form} onSubmit={(e) => { e.preventDefault(); if (again === password) save.mutate({ password }) }}>
        <input type="email" name="email" autoComplete="username" value={email} readOnly hidden />
        <Field label={t.settings.password} hint={t.settings.passwordHint} error={problem?.field('password')}>{(w) => <Input {...w} type="password" required autoComplete="new-password" value={password} onChange={(e) => setPassword(e.target.value)} />}</Field>
        <Field label={t.settings.passwordRepeat} error={differs ? t.settings.passwordDiffers : undefined}>{(w) => <Input {...w} type="password" required autoComplete="new-password" value={again} onChange={(e) => setAgain(e.target.value)} />}</Field>
        {problem && !problem.covers(['password']) && <Failure error={problem} />}
        <div><Button type="submit" disabled={differs || !password} busy={save.isPending}>{t.settings.passwordChange}</Button></div>
      </form>
    </Panel>
  )
}
