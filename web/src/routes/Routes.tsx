import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react'
import { Route, Switch, useLocation } from 'wouter'
import { setFetchAhead } from '@/ui/Link'
import { App } from './App'
import { NotFound, Unfetched } from './edges'
import { Shell } from './Shell'

/**
 * A page whose code comes when it is needed, or a little earlier. When it does not
 * come (the server is away), only the page says so and offers another try: the menu
 * and what was typed elsewhere stay.
 */
function page<P extends object>(fetch: () => Promise<ComponentType<P>>) {
  const attempt = (again: () => void) => lazy(async () => ({ default: await fetch().catch(() => () => <Unfetched onRetry={again} />) as ComponentType<P> }))
  let current: ReturnType<typeof attempt> | undefined
  function Page(props: P) {
    const [, show] = useState(0)
    current ??= attempt(() => {
      current = undefined
      show((n) => n + 1)
    })
    const Code = current as ComponentType<P>
    return <Code {...props} />
  }
  return { fetch, Page }
}

const signIn = page(() => import('./SignInPage').then((m) => m.SignInPage))
const today = page(() => import('./TodayPage').then((m) => m.TodayPage))
const inbox = page(() => import('./InboxPage').then((m) => m.InboxPage))
const tasks = page(() => import('./TasksPage').then((m) => m.TasksPage))
const newTask = page(() => import('./TaskEditPages').then((m) => m.NewTaskPage))
const editTask = page(() => import('./TaskEditPages').then((m) => m.EditTaskPage))
const task = page(() => import('./TaskPage').then((m) => m.TaskPage))
const topic = page(() => import('./TopicPage').then((m) => m.TopicPage))
const schedule = page(() => import('./SchedulePage').then((m) => m.SchedulePage))
const documents = page(() => import('./DocumentsPage').then((m) => m.DocumentsPage))
const newDocument = page(() => import('./DocumentPages').then((m) => m.NewDocumentPage))
const document = page(() => import('./DocumentPages').then((m) => m.DocumentPage))
const editDocument = page(() => import('./DocumentPages').then((m) => m.EditDocumentPage))
const settings = page(() => import('./SettingsPage').then((m) => m.SettingsPage))

const workspace = page(() => import('./SettingsParts').then((m) => m.WorkspaceSettings))
const calendars = page(() => import('./SettingsParts').then((m) => m.CalendarSettings))
const agents = page(() => import('./SettingsParts').then((m) => m.AgentSettings))

const ahead: [RegExp, () => Promise<unknown>][] = [
  [/^\/$/, today.fetch],
  [/^\/inbox/, inbox.fetch],
  [/^\/tasks$/, tasks.fetch],
  [/^\/tasks\/(new|.+\/edit)$/, newTask.fetch],
  [/^\/tasks\/./, task.fetch],
  [/^\/topics\//, topic.fetch],
  [/^\/schedule$/, schedule.fetch],
  [/^\/documents$/, documents.fetch],
  [/^\/documents\//, document.fetch],
  [/^\/settings$/, settings.fetch],
  [/^\/settings\//, workspace.fetch],
]
setFetchAhead((path) => {
  // A failure is told when the page is opened.
  ahead.find(([pattern]) => pattern.test(path))?.[1]().catch(() => undefined)
})

export function Routes() {
  useScrollUp()
  return (
    <App>
      <Switch>
        <Route path="/signin"><Suspense><signIn.Page /></Suspense></Route>
        <Route>
          <Shell>
            <Switch>
              <Route path="/"><today.Page /></Route>
              {/* One route for list and brief: picking another brief keeps the list where it is. */}
              <Route path="/inbox/:brief?">{(p) => <inbox.Page brief={p.brief} />}</Route>
              <Route path="/tasks"><tasks.Page /></Route>
              <Route path="/tasks/new"><newTask.Page /></Route>
              <Route path="/tasks/:task">{(p) => <task.Page key={p.task} task={p.task} />}</Route>
              <Route path="/tasks/:task/edit">{(p) => <editTask.Page key={p.task} task={p.task} />}</Route>
              <Route path="/topics/:topic">{(p) => <topic.Page key={p.topic} topic={p.topic} />}</Route>
              <Route path="/schedule"><schedule.Page /></Route>
              <Route path="/documents"><documents.Page /></Route>
              <Route path="/documents/new"><newDocument.Page /></Route>
              <Route path="/documents/:doc">{(p) => <document.Page key={p.doc} doc={p.doc} />}</Route>
              <Route path="/documents/:doc/edit">{(p) => <editDocument.Page key={p.doc} doc={p.doc} />}</Route>
              <Route path="/settings"><settings.Page /></Route>
              <Route path="/settings/workspace"><workspace.Page /></Route>
              <Route path="/settings/calendars"><calendars.Page /></Route>
              <Route path="/settings/agents"><agents.Page /></Route>
              <Route><NotFound /></Route>
            </Switch>
          </Shell>
        </Route>
      </Switch>
    </App>
  )
}

let wentBack = false
window.addEventListener('popstate', () => (wentBack = true))

/** A new page starts at its top; going back is left to the browser, which remembers. */
function useScrollUp() {
  const [path] = useLocation()
  useEffect(() => {
    if (!wentBack && !path.startsWith('/inbox/')) window.scrollTo(0, 0)
    wentBack = false
  }, [path])
}
