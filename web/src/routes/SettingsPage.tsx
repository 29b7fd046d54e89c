import { Password, Profile } from '@/features/settings/Profile'
import { Tokens } from '@/features/settings/Tokens'
import { useT } from '@/i18n'
import { Column, Columns, Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { Segments } from '@/ui/Segments'
import { setTheme, themes, useTheme } from '@/ui/theme'
import { useMe } from './me'
import { SettingsTabs } from './SettingsTabs'

export function SettingsPage() {
  const t = useT()
  const me = useMe()
  const theme = useTheme()
  return (
    <Page title={t.settings.title}>
      <SettingsTabs />
      <Columns>
        <Column>
          <Profile key={me.person.id} me={me} />
          <Tokens role={me.role} />
        </Column>
        <Column>
          <Panel title={t.settings.appearance}><Segments label={t.settings.appearance} value={theme} options={themes.map((name) => [name, t.app.theme[name]] as const)} onPick={setTheme} /></Panel>
          <Password email={me.person.email} />
        </Column>
      </Columns>
    </Page>
  )
}
