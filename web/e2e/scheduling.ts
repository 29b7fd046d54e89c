import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { api, picture, signedIn, watched } from './browser'

// The journeys of whoever plans: words and patterns, the time line, holding
// everything, many tasks at once, times made up for. Told by dashboard.test.ts,
// which has the one session that there is.

type Task = { identifier: string; status: string; automation: { pattern?: string; overlap?: string; exclusions?: { calendars: string[] } } | null }
type Tools = { page: () => Page; context: () => BrowserContext; stamp: string; open: (path: string, p?: Page) => Promise<void>; task: (name: string, more?: object) => Promise<Task> }

export function schedulingStories({ page: at, context, stamp, open, task }: Tools) {
  const button = (name: string | RegExp, p: Page = at()) => p.getByRole('button', { name })
  const get = (ref: string) => api<Task>(at(), 'GET', `/tasks/${ref}`)
  const dialog = (p: Page = at()) => p.getByRole('dialog')

  describe('a schedule', () => {
    it('is said in words and written as a pattern, each following the other', async () => {
      const page = at()
      await open('/tasks/new')
      await page.getByRole('radio', { name: 'Calendar' }).click()
      const [how, pattern] = [page.getByLabel('How often'), page.getByLabel('Pattern')]
      await how.selectOption('weekend')
      expect(await pattern.inputValue()).toBe('0 7 * * 0,6')
      await page.getByLabel('Time', { exact: true }).fill('18:30')
      expect(await pattern.inputValue()).toBe('30 18 * * 0,6')
      await how.selectOption('days')
      await button('Wednesday').click()
      expect(await pattern.inputValue()).toBe('30 18 * * 1,3')
      await pattern.fill('0 9,17 * * 1-5')
      await expect.poll(() => how.inputValue()).toBe('weekday')
      expect(await page.getByLabel('Time 2').inputValue()).toBe('17:00')
      await page.getByText('Every weekday at 09:00 and 17:00').waitFor()
      await picture(page, 'sentence')
      await pattern.fill('0 7 13 * 5')
      await expect.poll(() => how.inputValue()).toBe('own')
      await page.getByText('days that match either').waitFor()
      await pattern.fill('30 2 * * *')
      await page.getByLabel('Time zone').fill('Europe/Berlin')
      await page.getByText('Every day at 02:30 in Berlin').waitFor()
    })

    it('keeps its policies, with the calendar that it excludes', async () => {
      const page = at()
      await open('/settings/calendars')
      await button('New calendar').click()
      await page.getByLabel('Name').fill(`holidays-${stamp}`)
      await page.getByLabel('Dates').fill('2031-12-25\n2031-02-30')
      await dialog().getByRole('button', { name: 'Save' }).click()
      await page.getByText('2031-02-30').last().waitFor() // that day is none
      await page.getByLabel('Dates').fill('2031-12-25\n2031-12-31..2032-01-02')
      await dialog().getByRole('button', { name: 'Save' }).click()
      await page.getByText(`holidays-${stamp}`).first().waitFor()
      await expect.poll(() => dialog().count()).toBe(0)

      const { identifier } = await task('Policed', { automation: { mode: 'schedule', pattern: '0 7 * * 1-5', timezone: 'Europe/Berlin' } })
      await open(`/tasks/${identifier}/edit`)
      await page.getByText('Policies').click()
      await page.getByLabel('If a run is still under way').selectOption('queue')
      await page.getByLabel(`holidays-${stamp}`).check()
      await picture(page, 'policies')
      await button('Save').click()
      await page.waitForURL(new RegExp(`${identifier}$`))
      const saved = (await get(identifier)).automation
      expect([saved?.overlap, saved?.exclusions?.calendars, saved?.pattern]).toEqual(['queue', [`holidays-${stamp}`], '0 7 * * 1-5'])
    })
  })

  it('the time line shows by itself what is planned and why something did not run', async () => {
    const page = at()
    await open('/schedule')
    // Refused at once, since this is not its day; then planned anew.
    const day = (new Date().getUTCDay() + 3) % 7
    const { identifier } = await task('Not today', { automation: { mode: 'heartbeat', intervalSeconds: 3600, timezone: 'UTC', conditions: { activeDays: [day] } } })
    const row = page.locator('li', { has: page.getByText(identifier, { exact: true }) })
    await row.filter({ hasText: 'outside_active_hours' }).first().waitFor()
    await page.getByLabel('Task', { exact: true }).fill(identifier)
    await page.waitForURL(/task=T-/)
    await row.filter({ hasText: 'Skipped' }).first().waitFor()
    await row.filter({ hasText: 'Planned' }).first().waitFor()
    await page.getByText(/^Now \d\d:\d\d$/).waitFor()
    await page.getByLabel('Reason').selectOption('outside_active_hours')
    await expect.poll(() => row.filter({ hasText: 'Planned' }).count()).toBe(0)
    await page.getByLabel('Reason').selectOption('budget')
    await page.getByText('No time matches these filters.').waitFor()
    await button('Clear filters').click()
    await row.first().getByRole('link', { name: 'Not today' }).first().click()
    await page.waitForURL(new RegExp(`${identifier}$`))
  })

  it('holding the workspace says what will happen, and every page says that it is held', async () => {
    const page = at()
    // A window of its own: a page behind another one is drawn, and clicked, once in a while only.
    const apart = await signedIn(context().browser()!)
    const other = await watched(apart)
    await open('/tasks', other.page)
    await open('/settings/workspace')
    try {
      await button('Pause').click()
      await dialog().getByText('No run begins, whoever asks for it.').waitFor()
      await dialog().getByLabel('Why?').fill('The database moves')
      await picture(page, 'hold', false)
      await dialog().getByRole('button', { name: 'Pause' }).click()
      await button('Resume').waitFor()
      const banner = other.page.getByRole('complementary')
      await banner.getByText('The workspace is paused').waitFor()
      await banner.getByText('The database moves').waitFor()
      await picture(other.page, 'held')
      await button('Resume').click()
      await dialog().getByRole('button', { name: 'Resume' }).click()
      for (const p of [other.page, page]) await expect.poll(() => p.getByRole('complementary').count()).toBe(0)
      await button('Read-only').click()
      await dialog().getByRole('button', { name: 'Read-only' }).click()
      await banner.getByText('agents change nothing').waitFor()
    } finally {
      // The other stories need runs.
      await api(page, 'POST', '/workspace/resume', {})
      await api(page, 'PATCH', '/workspace', { readOnly: false })
    }
    expect(other.faults).toEqual([])
    await apart.close()
  })

  it('many tasks are paused with one order, and it is taken back', async () => {
    const page = at()
    const refs: string[] = []
    for (const name of ['Herd one', 'Herd two', 'Herd three']) refs.push((await task(name, { automation: { mode: 'every', everySeconds: 86_400 } })).identifier)
    const states = async () => (await Promise.all(refs.map(get))).map((t) => t.status)
    await open(`/tasks?q=${encodeURIComponent('Herd')}`)
    await expect.poll(() => page.locator('[data-row]').count()).toBeGreaterThanOrEqual(3)
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 task chosen').waitFor()
    await page.getByLabel(`Choose ${refs[0]}`).click({ modifiers: ['Shift'] })
    await page.getByText('3 tasks chosen').waitFor()
    await picture(page, 'bulk')
    await page.getByRole('group', { name: 'The chosen tasks' }).getByRole('button', { name: 'Pause' }).click()
    await dialog().getByLabel('Note').fill('Over the holidays')
    await dialog().getByRole('button', { name: 'Pause' }).click()
    await page.getByText('3 tasks paused.').waitFor()
    expect(await states()).toEqual(['paused', 'paused', 'paused'])
    await button('Undo').click()
    await page.getByText('Taken back for 3 tasks.').waitFor()
    expect(await states()).toEqual(['scheduled', 'scheduled', 'scheduled'])

    await page.getByLabel(`Choose ${refs[0]}`).click()
    await page.getByRole('group', { name: 'The chosen tasks' }).getByRole('button', { name: 'Cancel tasks' }).click()
    await dialog().getByText('what was stopped does not run on').waitFor()
    await dialog().getByRole('button', { name: 'Cancel tasks' }).click()
    await page.getByText('1 task canceled.').waitFor()
    expect(await states()).toEqual(['canceled', 'scheduled', 'scheduled'])
  })

  it('times that did not run are made up for', async () => {
    const page = at()
    const { identifier } = await task('Behind', { automation: { mode: 'every', everySeconds: 3600 } })
    await open(`/tasks/${identifier}`)
    await button('Backfill').click()
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 16)
    await page.getByLabel('From', { exact: true }).fill(yesterday)
    await page.getByLabel('At most').fill('2')
    await picture(page, 'backfill', false)
    await dialog().getByRole('button', { name: 'Backfill' }).click()
    await page.getByText('2 times will be made up for').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('link', { name: /^Run 2\b/ }).waitFor({ timeout: 40_000 })
  })

  it('an agent gets a cron job, which is edited, put to rest and deleted', async () => {
    const page = at()
    await open('/settings/agents')
    await button(/^New cron job/).first().click()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await page.getByText('Write what should be done.').waitFor()
    await dialog().getByLabel('What should be done?').fill('Say what changed in the night.')
    await dialog().getByLabel('Name').fill(`Night ${stamp}`)
    await dialog().getByLabel('How often').selectOption('day')
    await dialog().getByLabel('Most scheduled runs').fill('9')
    await picture(page, 'cron-job', false)
    await dialog().getByRole('button', { name: 'Save' }).click()
    const row = page.locator('li', { hasText: `Night ${stamp}` })
    await row.getByText('9 of 9 runs left').waitFor()
    await button(`Edit Night ${stamp}`).click()
    await dialog().getByLabel('Pattern').fill('30 6 * * 1-5')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await row.getByText('Every weekday at 06:30').waitFor()
    await row.getByLabel('Enabled').click()
    await page.getByText(`Night ${stamp} is disabled`).waitFor()
    await expect.poll(() => row.getByText('next:').count()).toBe(0)
    await button(`Delete Night ${stamp}`).click()
    await dialog().getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => row.count()).toBe(0)
  })
}
