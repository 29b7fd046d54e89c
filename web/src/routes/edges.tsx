import { useT } from '@/i18n'
import { to } from '@/places'
import { Button, buttonClass } from '@/ui/Button'
import { Link } from '@/ui/Link'
import { Page } from '@/ui/Page'
import { Panel } from '@/ui/Panel'
import { Empty } from '@/ui/States'

export function NotFound() {
  const t = useT()
  return (
    <Page title={t.app.notFound.title}>
    <Panel>
      <Empty icon="search" title={t.app.notFound.hint}>
        <Link to={to.today()} className={buttonClass()}>{t.app.notFound.back}</Link>
      </Empty>
    </Panel>
    </Page>
  )
}

/** The code of a page did not come. */
export function Unfetched({ onRetry }: { onRetry: () => void }) {
  const t = useT()
  return (
    <Page title={t.app.unfetched.title}>
      <Panel>
        <Empty icon="alert" title={t.app.unfetched.hint}>
          <Button look="primary" icon="refresh" onClick={onRetry}>{t.common.retry}</Button>
        </Empty>
      </Panel>
    </Page>
  )
}

export function Crashed() {
  const t = useT()
  return (
    <Panel>
      <Empty icon="alert" title={t.app.crashed.title} hint={t.app.crashed.hint}>
        <Button look="primary" icon="refresh" onClick={() => location.reload()}>{t.app.crashed.reload}</Button>
      </Empty>
    </Panel>
  )
}
