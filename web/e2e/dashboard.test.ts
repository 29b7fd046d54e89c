import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { api, launch, picture, signedIn, url, watched } from './browser'
import { schedulingStories } from './scheduling'

// The journeys of an operator, told to a real server by a real browser. Nothing
// is reloaded unless a story says so: what appears, appears by itself.

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const letter = 'Mrs Haddad wrote at 22:14. Please decide by Friday whether order 8812 is refunded. The machine cost 1190 EUR.\n'
const stamp = Date.now().toString(36)

let browser: Browser
let context: BrowserContext
let page: Page
let faults: string[]

beforeAll(async () => {
  browser = await launch()
  context = await signedIn(browser)
  ;({ page, faults } = await watched(context))
})
afterAll(() => browser?.close())
afterEach((test) => {
  if (test.task.result?.state === 'fail') return picture(page, `failed-${test.task.name.replace(/\W+/g, '-')}`)
})

type Task = { identifier: string; status: string }
type Brief = { number: string; type: string; title: string; resolvedAction: string | null }
type List<T> = { items: T[] }

const open = async (path: string, p = page) => {
  await p.goto(url + path)
  await p.waitForSelector('main h1')
}
const button = (name: string | RegExp, p: Page = page) => p.getByRole('button', { name })
const task = (name: string, more: object = {}) => api<Task>(page, 'POST', '/tasks', { instruction: letter, name: `${name} ${stamp}`, ...more })

/** The open brief of a task, once its run has left one. */
async function briefOf(ref: string): Promise<Brief> {
  await expect.poll(async () => (await api<List<Brief>>(page, 'GET', `/briefs?state=unresolved&task=${ref}`)).items.length, { timeout: 30_000 }).toBeGreaterThan(0)
  return (await api<List<Brief>>(page, 'GET', `/briefs?state=unresolved&task=${ref}`)).items[0]!
}

describe('the main journey', () => {
  let ref = ''

  it('opens on the shift report', async () => {
    await open('/')
    await expect.poll(() => page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(expect.arrayContaining([expect.stringContaining('Needs you'), expect.stringContaining('What comes next')]))
    await page.getByText('Live', { exact: true }).waitFor()
    await picture(page, 'today')
  })

  it('writes a document and reads it back', async () => {
    await open('/documents/new')
    await page.getByLabel('Title').fill(`letter ${stamp}`)
    await page.getByLabel('Text', { exact: true }).fill(`# Night desk\n\n${letter}\n<script>window.hacked = true</script>`)
    await button('Create').click()
    await page.getByRole('heading', { name: `letter ${stamp}` }).waitFor()
    await page.getByRole('heading', { name: 'Night desk' }).waitFor()
    expect(await page.evaluate('window.hacked')).toBeUndefined()
    await picture(page, 'document')
  })

  it('shows the next fires while the schedule is typed', async () => {
    await open('/tasks/new')
    await page.getByLabel('What should be done?').fill('Read the letter and say what needs a decision.')
    await page.getByLabel('Name').fill(`Night desk ${stamp}`)
    await page.getByRole('radio', { name: 'Calendar' }).click()
    const fires = page.locator('ol time')
    await expect.poll(() => fires.count()).toBe(5)
    await page.getByLabel('Pattern').fill('0 7 * * 1-5')
    await page.getByLabel('Time zone').fill('Asia/Tokyo')
    await page.getByText('Every weekday at 07:00 in Tokyo').waitFor()
    await expect.poll(async () => (await fires.allTextContents()).every((t) => t.includes('07:00 in Asia/Tokyo'))).toBe(true)
    await picture(page, 'new-task')
    await page.getByLabel('Pattern').fill('0 7 * *')
    await page.getByRole('alert').first().waitFor()
    expect(await fires.count()).toBe(0)
  })

  it('creates the task with its document pinned and runs it', async () => {
    await page.getByRole('radio', { name: 'By hand' }).click()
    await page.getByText('Documents it reads every time').click()
    await page.getByLabel('Find a document').fill(`letter ${stamp}`)
    await page.getByLabel(`letter ${stamp}`).check()
    await button('Create and run').click()
    await page.waitForURL(/\/tasks\/T-\d+$/)
    ref = page.url().split('/').at(-1)!
    await page.getByRole('link', { name: `letter ${stamp}` }).waitFor()
  })

  it('watches the run come to its end without a reload', async () => {
    await page.getByRole('link', { name: /^Run 1: / }).waitFor({ timeout: 30_000 })
    await page.getByText('awaiting_review').first().waitFor()
    await picture(page, 'task')
  })

  it('reads the run: handoff, conversation, steps', async () => {
    await page.getByRole('link', { name: /^Run 1: / }).click()
    for (const name of ['Handoff', 'Conversation', 'Steps']) await page.getByRole('heading', { name, exact: true }).waitFor()
    await page.getByText(/\d+ steps?/).first().waitFor()
    await picture(page, 'topic')
  })

  it('resolves the brief with a note, and the effect shows on another page by itself', async () => {
    const other = await watched(context)
    await open(`/tasks/${ref}`, other.page)
    const brief = await briefOf(ref)
    await open(`/inbox/${brief.number}`)
    await page.getByLabel('Answer or note').fill('Refund it, up to 50 EUR.')
    await picture(page, 'brief')
    await button('Approve').first().click()
    await page.getByText(`${brief.number} resolved`).waitFor()
    await page.getByText(/^Resolved: Approve/).waitFor()
    await expect.poll(() => other.page.getByText(brief.number, { exact: true }).count(), { timeout: 10_000 }).toBe(0)
    await other.page.getByText('Completed', { exact: true }).first().waitFor()
    expect((await api<Brief>(page, 'GET', `/briefs/${brief.number}`)).resolvedAction).toBe('approve')
    expect(other.faults).toEqual([])
    await other.page.close()
  })
})

describe('tasks', () => {
  it('are found by a word, and the filter stays in the address', async () => {
    const { identifier } = await task('Findling')
    await open('/tasks')
    await page.getByLabel('Search').fill(`findling ${stamp}`)
    await page.waitForURL(/q=findling/)
    await page.getByRole('link', { name: `Findling ${stamp}` }).waitFor()
    await expect.poll(() => page.locator('[data-row]').count()).toBe(1)
    await picture(page, 'tasks')
    await page.getByLabel('Status').selectOption('running')
    await page.getByText('No task matches these filters.').waitFor()
    await page.reload()
    await page.getByText('No task matches these filters.').waitFor()
    await button('Clear filters').click()
    await expect.poll(() => page.locator('[data-row]').count()).toBeGreaterThan(1)
    expect(identifier).toMatch(/^T-\d+$/)
  })

  it('created elsewhere appear by themselves', async () => {
    await open('/tasks')
    await task('From elsewhere')
    await page.getByRole('link', { name: `From elsewhere ${stamp}` }).waitFor({ timeout: 5000 })
  })

  it('are paused, resumed, edited and cancelled by their buttons', async () => {
    const { identifier } = await task('Button', { automation: { mode: 'heartbeat', intervalSeconds: 86_400 } })
    await open(`/tasks/${identifier}`)
    await page.getByRole('link', { name: /^Run 1: / }).waitFor({ timeout: 30_000 })
    const dialog = page.getByRole('dialog')
    await button('Pause').click()
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await button('Pause').click()
    await dialog.waitFor()
    await page.keyboard.type('Until the audit is over')
    await picture(page, 'pause-task', false)
    await page.keyboard.press('Control+Enter')
    await page.getByText('Until the audit is over').waitFor()
    await page.getByText('Paused', { exact: true }).first().waitFor()
    await button('Resume').click()
    await dialog.getByText('Its heartbeat goes on, an interval after its last run').waitFor()
    await dialog.getByLabel('Run it once now').check()
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('link', { name: /^Run 2: / }).waitFor({ timeout: 30_000 })
    await page.getByText('Scheduled', { exact: true }).first().waitFor()
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Pause between runs', { exact: true }).fill('2')
    await picture(page, 'edit-task')
    await button('Save').click()
    await page.waitForURL(/T-\d+$/)
    await page.getByText('2 days after each run').first().waitFor()
    await button('Cancel task').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click()
    await page.getByText('Canceled', { exact: true }).first().waitFor()
    await button('Reopen').waitFor()
  })

  it('an edit on top of another’s is refused and keeps the text', async () => {
    const { identifier } = await task('Contested')
    await open(`/tasks/${identifier}/edit`)
    await page.getByLabel('Name').fill('Mine')
    await api(page, 'PATCH', `/tasks/${identifier}`, { name: 'Theirs' })
    await button('Save').click()
    await page.getByText('Somebody else changed this meanwhile').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Mine')
  })

  it('take comments', async () => {
    const { identifier } = await task('Talked about')
    await open(`/tasks/${identifier}`)
    await page.getByPlaceholder('Tell the agent something').fill('Only the **urgent** ones.')
    await page.keyboard.press('Control+Enter')
    await page.locator('strong', { hasText: 'urgent' }).waitFor()
    await page.getByText('The next run reads it').waitFor()
  })
})

schedulingStories({ page: () => page, context: () => context, stamp, open, task: (name, more) => task(name, more) as never })

describe('the inbox', () => {
  it('a brief that somebody else resolved first says so', async () => {
    const { identifier } = await task('Race', { start: true })
    const brief = await briefOf(identifier)
    const apart = await browser.newContext({ storageState: await context.storageState() })
    await apart.route('**/api/v1/events', (route) => route.abort()) // not live: the page does not hear of it
    const { page: stale } = await watched(apart)
    await open(`/inbox/${brief.number}`, stale)
    await button('Approve', stale).first().waitFor()
    await api(page, 'POST', `/briefs/${brief.number}/resolve`, { action: 'approve' })
    await button('Approve', stale).first().click()
    await stale.getByText(/^Resolved: Approve/).waitFor()
    await apart.close()
  })

  it('feedback asks for its text first', async () => {
    const { identifier } = await task('Feedback', { start: true })
    const brief = await briefOf(identifier)
    await open(`/inbox/${brief.number}`)
    await button('Give feedback').click()
    await page.getByText('Write your answer first.').waitFor()
    await page.getByLabel('Answer or note').fill('Shorter, please.')
    await button('Give feedback').click()
    await page.getByText(`${brief.number} resolved`).waitFor()
    await page.getByText('Shorter, please.').first().waitFor()
  })
})

describe('the line to the server', () => {
  it('says when it is down, and comes back', async () => {
    const apart = await browser.newContext({ storageState: await context.storageState() })
    await apart.route('**/api/v1/events', (route) => route.abort())
    const { page: p } = await watched(apart)
    await open('/', p)
    await p.getByText('Not live', { exact: true }).waitFor({ timeout: 10_000 })
    await picture(p, 'not-live')
    await apart.unroute('**/api/v1/events')
    await button('Try now', p).click({ timeout: 5000 }).catch(() => undefined) // it may be back by itself before
    await p.getByText('Live', { exact: true }).waitFor()
    await expect.poll(() => p.getByText('The line to the server is down').count()).toBe(0)
    await apart.close()
  })
})

describe('a run that is under way', () => {
  // The built-in model answers at once; what a slow one looks like is played here,
  // on a real run's answers.
  it('shows what the model writes while it writes, then the step', async () => {
    await open('/')
    const { identifier } = await task('Slow', { start: true })
    // A card may open while the run goes on: its last step is known when it has ended.
    type Run = { id: string; status: string; operations: { id: string; stepCount: number }[] }
    const runs = async () => (await api<List<Run>>(page, 'GET', `/tasks/${identifier}/topics`)).items
    await expect.poll(async () => (await runs())[0]?.status, { timeout: 30_000 }).toBe('completed')
    const [done] = await runs()
    const operation = done!.operations.at(-1)!
    const apart = await browser.newContext({ storageState: await context.storageState() })
    const { page: p, faults: wrong } = await watched(apart)
    await apart.route(`**/api/v1/topics/${done!.id}`, async (route) => {
      const topic = (await (await route.fetch()).json()) as { operations: object[] }
      await route.fulfill({ json: { ...topic, status: 'running', completedAt: null, handoff: null, operations: topic.operations.map((o) => ({ ...o, status: 'running', completedAt: null, completionReason: null })) } })
    })
    const event = (type: string, id: string | null, payload: object) =>
      `${id ? `id: ${id}\n` : ''}data: ${JSON.stringify({ id, type, at: new Date().toISOString(), subject: { kind: 'operation', id: operation.id }, payload: { operationId: operation.id, topicId: done!.id, ...payload } })}\n\n`
    const seq = operation.stepCount + 1
    // The stream is played in two parts, the second only when the first was read. A
    // connection may be broken off before its answer is taken up, so that each gets
    // the first part until then.
    let wasRead = false
    let told = false
    await apart.route('**/api/v1/events', (route) => {
      const fulfill = (body: string) => route.fulfill({ contentType: 'text/event-stream', body })
      if (!wasRead) {
        return fulfill(`id: 1\n\n${event('step.delta', null, { seq, text: 'Two letters arrived ', restart: true })}${event('step.delta', null, { seq, text: 'since the last run.' })}`)
      }
      if (!told) {
        told = true
        return fulfill(event('step.added', '2', { seq, kind: 'model' }))
      }
      // … and then silence
    })
    await open(`/topics/${done!.id}`, p)
    const writing = p.getByText('Two letters arrived since the last run.')
    await writing.first().waitFor()
    await picture(p, 'writing')
    wasRead = true
    await expect.poll(() => writing.count(), { timeout: 40_000 }).toBe(0) // the step is recorded: its text comes with it
    expect(wrong).toEqual([])
    await apart.close()
  })
})

describe('the keyboard', () => {
  it('goes everywhere', async () => {
    await open('/')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content')
    for (const [keys, path] of [['gt', '/tasks'], ['gi', '/inbox'], ['gc', '/schedule'], ['gd', '/documents'], ['gs', '/settings'], ['gh', '/'], ['n', '/tasks/new']] as const) {
      await page.locator('body').click({ position: { x: 2, y: 2 } })
      for (const key of keys) await page.keyboard.press(key)
      await page.waitForURL(url + path)
    }
    await page.keyboard.type('g t ?') // letters in a field are letters
    expect(page.url()).toBe(`${url}/tasks/new`)
  })

  it('walks a list and opens a row', async () => {
    await open('/tasks')
    await page.locator('[data-row]').first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const name = await page.evaluate(() => document.activeElement?.textContent)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: name! }).waitFor()
    await page.keyboard.press('/')
  })

  it('goes into a brief, to its buttons and back to its row', async () => {
    const { identifier } = await task('By keys', { start: true })
    const brief = await briefOf(identifier)
    await open('/inbox')
    const row = page.locator(`[data-row][href="/inbox/${brief.number}"]`)
    await row.focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`${brief.number}$`))
    await button('Approve').first().waitFor()
    await page.keyboard.press('a')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Approve')
    await page.keyboard.press('Escape')
    await page.waitForURL(`${url}/inbox`)
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('href'))).toBe(`/inbox/${brief.number}`)
  })

  it('has a sheet that Escape closes', async () => {
    await open('/tasks')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await picture(page, 'keyboard', false)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })
})

describe('settings', () => {
  it('a token is shown once and can be revoked', async () => {
    await open('/settings')
    await button('Create token').click()
    await page.getByLabel('What is it for?').fill(`import ${stamp}`)
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    const secret = await page.locator('code', { hasText: /^dw_/ }).first().textContent()
    await picture(page, 'token', false)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
    await page.getByText(`import ${stamp}`).waitFor()
    expect(await page.content()).not.toContain(secret!)
    const row = page.locator('li', { hasText: `import ${stamp}` })
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await expect.poll(() => page.getByText(`import ${stamp}`).count()).toBe(0)
  })

  it('the language changes at once and stays', async () => {
    await open('/settings')
    await page.getByLabel('Language').selectOption('zh-CN')
    await button('Save').click()
    await page.getByRole('heading', { level: 1, name: '设置' }).waitFor()
    try {
      for (const [path, name] of [['/', 'today'], ['/inbox', 'inbox'], ['/tasks', 'tasks'], ['/tasks/new', 'new-task'], ['/settings', 'settings'], ['/schedule', 'schedule'], ['/settings/workspace', 'workspace']] as const) {
        await open(path)
        await page.getByRole('navigation').getByRole('link', { name: /^收件箱/ }).waitFor()
        await page.waitForTimeout(400)
        await picture(page, `zh-${name}`)
      }
      expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN')
    } finally {
      await api(page, 'PATCH', '/me', { language: 'en' }) // the other stories speak English
    }
  })

  it('the theme can be chosen', async () => {
    await open('/settings')
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await ground()
    await page.getByRole('radio', { name: 'Dark' }).click()
    expect(await ground()).not.toBe(light)
    await page.reload()
    await page.waitForSelector('main h1')
    expect(await ground()).not.toBe(light)
    await page.getByRole('radio', { name: 'System' }).click()
  })
})

const pages = async (): Promise<[string, string][]> => {
  const [first] = (await api<List<Task>>(page, 'GET', '/tasks?limit=50')).items.filter((t) => t.status === 'paused' || t.status === 'completed')
  const [topic] = (await api<List<{ id: string }>>(page, 'GET', `/tasks/${first!.identifier}/topics`)).items
  const [brief] = (await api<List<Brief>>(page, 'GET', '/briefs?state=all')).items
  const [doc] = (await api<List<{ id: string }>>(page, 'GET', '/documents')).items
  return [['today', '/'], ['inbox', '/inbox'], ['brief', `/inbox/${brief!.number}`], ['tasks', '/tasks'], ['task', `/tasks/${first!.identifier}`], ['new-task', '/tasks/new'], ['topic', `/topics/${topic!.id}`], ['schedule', '/schedule'], ['edit-task', `/tasks/${first!.identifier}/edit`], ['workspace', '/settings/workspace'], ['agents', '/settings/agents'], ['calendars', '/settings/calendars'], ['documents', '/documents'], ['document', `/documents/${doc!.id}`], ['settings', '/settings'], ['nowhere', '/no/such/page']]
}

describe('every page', () => {
  const looks: [string, Parameters<Browser['newContext']>[0]][] = [
    ['light', {}],
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }],
    ['phone-dark', { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, colorScheme: 'dark', reducedMotion: 'reduce' }],
  ]
  it.each(looks)('is accessible, fits and does not jump: %s', async (look, options) => {
    const apart = await signedIn(browser, options)
    const { page: p, faults: wrong } = await watched(apart)
    const found: string[] = []
    await p.addInitScript(() => {
      const w = window as unknown as { shift: number }
      w.shift = 0
      new PerformanceObserver((list) => list.getEntries().forEach((e) => (w.shift += (e as unknown as { value: number }).value))).observe({ type: 'layout-shift', buffered: true })
    })
    for (const [name, path] of await pages()) {
      await open(path, p)
      // What loads has loaded, and what follows it by a moment too: jumps are counted.
      await expect.poll(() => p.getByRole('status', { name: 'Loading' }).count()).toBe(0)
      await p.waitForTimeout(300)
      const shift = await p.evaluate(() => (window as unknown as { shift: number }).shift)
      await picture(p, `${name}-${look}`)
      if (shift > 0.1) found.push(`${name}: layout shift ${shift.toFixed(3)}`)
      const wide = await p.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      if (wide > 0) found.push(`${name}: ${wide}px too wide`)
      await p.evaluate(axe)
      const result = await p.evaluate(() => (window as unknown as { axe: { run(options: object): Promise<{ violations: { id: string; nodes: { target: unknown; failureSummary: string }[] }[] }> } }).axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }))
      for (const v of result.violations) found.push(`${name}: ${v.id}: ${v.nodes.slice(0, 2).map((n) => `${JSON.stringify(n.target)} ${n.failureSummary.replace(/\s+/g, ' ').slice(0, 160)}`).join(' | ')}`)
    }
    expect(found).toEqual([])
    expect(wrong).toEqual([])
    await apart.close()
  }, 120_000)
})

describe('leaving', () => {
  it('a stranger is asked to sign in and comes back to where they wanted to go', async () => {
    const stranger = await browser.newContext()
    const p = await stranger.newPage()
    await p.goto(`${url}/tasks?status=paused`)
    await p.waitForURL(/\/signin\?next=/)
    await p.getByLabel('E-mail').fill('nobody@example.com')
    await p.getByLabel('Password').fill('not the password')
    await p.getByRole('button', { name: 'Sign in' }).click()
    await p.getByText('This e-mail and password do not go together.').waitFor()
    await picture(p, 'sign-in', false)
    await stranger.close()
  })

  it('nothing was wrong along the way', () => expect(faults).toEqual([]))

  it('signing out ends the session', async () => {
    await open('/')
    await button('Sign out').click()
    await page.waitForURL(/\/signin/)
    await page.goto(`${url}/tasks`)
    await page.waitForURL(/\/signin/)
  })
})
