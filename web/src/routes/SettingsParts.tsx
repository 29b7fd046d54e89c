import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { workspaceQuery } from '@/api/workspace'
import { Agents } from '@/features/agents/Agents'
import { Calendars } from '@/features/calendars/Calendars'
import { CronJobs } from '@/features/tasks/CronJobs'
import { Holds, QuietHours } from '@/features/workspace/Holds'
import { useT } from '@/i18n'
import { Answer } from '@/ui/Answer'
import { Column, Columns, Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { Bones } from '@/ui/States'
import { mayOperate, useMe } from './me'
import { SettingsTabs } from './SettingsTabs'

// The settings of the workspace: what concerns more than the person who looks.

const Frame = ({ children }: { children: ReactNode }) => {
  const t = useT()
  return <Page title={t.settings.title}><SettingsTabs />{children}</Page>
}

export function WorkspaceSettings() {
  const me = useMe()
  const admin = me.role === 'admin'
  const query = useQuery(workspaceQuery)
  return (
    <Frame>
      <Answer query={query} bones={<Panel><Bones rows={5} height={44} /></Panel>}>
        {(workspace) => (
          <Columns>
            <Column><Holds workspace={workspace} mayHold={admin} /></Column>
            <Column><QuietHours workspace={workspace} mayEdit={admin} /></Column>
          </Columns>
        )}
      </Answer>
    </Frame>
  )
}

export const CalendarSettings = () => {
  const me = useMe()
  return <Frame><Calendars mayEdit={mayOperate(me)} /></Frame>
}

export function AgentSettings() {
  const me = useMe()
  const zone = useQuery(workspaceQuery).data?.timezone ?? me.workspace.timezone
  return <Frame><Agents zone={zone} mayHold={me.role === 'admin'} more={(agent) => <CronJobs agent={agent} mayEdit={mayOperate(me)} />} /></Frame>
}
