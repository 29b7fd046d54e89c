import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { asProblem } from '@/api/problem'
import { createToken, revokeToken, tokensQuery } from '@/api/session'
import type { Role, Token } from '@/api/types'
import { useT } from '@/i18n'
import { Answer } from '@/ui/Answer'
import { Badge } from '@/ui/Badge'
import { Button } from '@/ui/Button'
import { CopyLine } from '@/ui/Code'
import { Confirm, Dialog } from '@/ui/Dialog'
import { Field, Input, Select } from '@/ui/Field'
import { Panel } from '@/ui/Panel'
import { rows } from '@/ui/Rows'
import { Failure, Nothing, Notice } from '@/ui/States'
import { toast, toastProblem } from '@/ui/Toasts'
import { useNow, When } from '@/ui/When'
import styles from './Settings.module.css'

const roles: Role[] = ['viewer', 'operator', 'admin']
const expiryDays = { d30: 30, d90: 90, d365: 365, never: null } as const
type Expiry = keyof typeof expiryDays

/** API tokens: made, shown once, revoked. */
export function Tokens({ role }: { role: Role }) {
  const t = useT()
  const client = useQueryClient()
  const query = useQuery(tokensQuery)
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Token>()
  const refresh = () => client.invalidateQueries({ queryKey: keys.tokens })
  const revoke = useMutation({
    mutationFn: (id: string) => revokeToken(id),
    onSuccess: () => toast(t.settings.tokenRevoked),
    onError: (error) => toastProblem(t, error),
    onSettled: () => {
      setRevoking(undefined)
      return refresh()
    },
  })
  return (
    <Panel flush title={t.settings.tokens} hint={t.settings.tokensHint} aside={<Button small icon="plus" onClick={() => setMaking(true)}>{t.settings.tokenCreate}</Button>}>
      <Answer query={query}>
        {(tokens) => tokens.length === 0 ? <Nothing>{t.settings.tokensEmpty}</Nothing> : (
          <ul className={rows.rows}>
            {tokens.map((token) => (
              <li key={token.id} className={rows.row}>
                <div className={rows.line}>
                  <span className={rows.grow}><span className={rows.title}>{token.name}</span> <span className={rows.ref}>{token.prefix}…</span></span>
                  <Badge>{t.settings.roles[token.role]}</Badge>
                  <Button small look="quiet" onClick={() => setRevoking(token)}>{t.settings.tokenRevoke}</Button>
                </div>
                <TokenMeta token={token} />
              </li>
            ))}
          </ul>
        )}
      </Answer>
      {making && <NewToken role={role} onClose={() => { setMaking(false); void refresh() }} />}
      {revoking && <Confirm danger title={t.settings.tokenRevokeTitle(revoking.name)} text={t.settings.tokenRevokeHint} confirm={t.settings.tokenRevoke} busy={revoke.isPending} onConfirm={() => revoke.mutate(revoking.id)} onClose={() => setRevoking(undefined)} />}
    </Panel>
  )
}

function TokenMeta({ token }: { token: Token }) {
  const t = useT()
  const now = useNow(60_000)
  return (
    <div className={rows.meta}>
      <span>{token.lastUsedAt ? <>{t.settings.tokenUsed} <When at={token.lastUsedAt} ago /></> : t.settings.tokenNever}</span>
      {token.expiresAt && (Date.parse(token.expiresAt) < now ? <Badge tone="warn">{t.settings.tokenExpired}</Badge> : <span>{t.settings.tokenExpires} <When at={token.expiresAt} ago /></span>)}
    </div>
  )
}

function NewToken({ role, onClose }: { role: Role; onClose: () => void }) {
  const t = useT()
  const [name, setName] = useState('')
  const [wanted, setWanted] = useState<Role>(role === 'viewer' ? 'viewer' : 'operator')
  const [expiry, setExpiry] = useState<Expiry>('d90')
  const make = useMutation({
    mutationFn: () => {
      const days = expiryDays[expiry]
      return createToken({ name: name.trim(), role: wanted, ...(days === null ? {} : { expiresAt: new Date(Date.now() + days * 86_400_000).toISOString() }) })
    },
  })
  const problem = make.error ? asProblem(make.error) : undefined
  const allowed = roles.slice(0, roles.indexOf(role) + 1)
  if (make.data?.token) {
    return (
      <Dialog title={t.settings.tokenCreate} onClose={onClose} wide>
        <Notice tone="warn" icon="key">{t.settings.tokenSecret}</Notice>
        <CopyLine text={make.data.token} />
        <div className={styles.end}><Button look="primary" onClick={onClose}>{t.common.close}</Button></div>
      </Dialog>
    )
  }
  return (
    <Dialog title={t.settings.tokenCreate} onClose={onClose}>
      <form className={styles.form} onSubmit={(e) => { e.preventDefault(); if (name.trim()) make.mutate() }}>
        <Field label={t.settings.tokenName} error={problem?.field('name')}>{(w) => <Input {...w} required autoFocus maxLength={200} autoComplete="off" placeholder={t.settings.tokenNamePlaceholder} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <Field label={t.settings.tokenRole} error={problem?.field('role')}>{(w) => <Select {...w} value={wanted} options={allowed.map((r) => [r, t.settings.roles[r]] as const)} onPick={setWanted} />}</Field>
        <Field label={t.settings.tokenExpiry} error={problem?.field('expiresAt')}>{(w) => <Select {...w} value={expiry} options={(Object.keys(expiryDays) as Expiry[]).map((e) => [e, t.settings.tokenExpiries[e]] as const)} onPick={setExpiry} />}</Field>
        {problem && !problem.covers(['name', 'role', 'expiresAt']) && <Failure error={problem} />}
        <div className={styles.end}>
          <Button look="quiet" onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="primary" busy={make.isPending}>{t.settings.tokenCreate}</Button>
        </div>
      </form>
    </Dialog>
  )
}
