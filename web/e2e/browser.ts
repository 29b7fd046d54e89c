import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

// The running server that the stories are told to, and how to get in: a one-time
// link (it is used up by the first story) or a person's e-mail and password.
const env = process.env
export const url = (env.DOGWATCH_E2E_URL ?? '').replace(/\/$/, '')
const link = env.DOGWATCH_E2E_LINK
export const email = env.DOGWATCH_E2E_EMAIL
export const password = env.DOGWATCH_E2E_PASSWORD
const shots = env.DOGWATCH_E2E_SHOTS
const executablePath = env.DOGWATCH_E2E_CHROMIUM ?? '/usr/bin/chromium'

if (!url || !(link || (email && password))) {
  throw new Error('The browser tests need DOGWATCH_E2E_URL and DOGWATCH_E2E_LINK, or DOGWATCH_E2E_EMAIL and DOGWATCH_E2E_PASSWORD.')
}
if (!existsSync(executablePath)) throw new Error(`There is no Chromium at ${executablePath}; DOGWATCH_E2E_CHROMIUM says where it is.`)

const flags = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']

export const launch = () => chromium.launch({ executablePath, headless: true, args: flags })

/** What went wrong on a page without anybody asking: console errors, crashes, what the policy blocked. */
export type Watched = { page: Page; faults: string[] }

export async function watched(context: BrowserContext): Promise<Watched> {
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`crash: ${error.message}`))
  page.on('console', (message) => {
    // The browser reports each refusal; stories that provoke one look at it themselves.
    if (message.type() === 'error' && !/status of (401|409|412|422)/.test(message.text())) faults.push(`console: ${message.text()}`)
  })
  return { page, faults }
}

let session: Awaited<ReturnType<BrowserContext['storageState']>> | undefined

/** A context that is signed in. The first one signs in, the others carry its session. */
export async function signedIn(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-US', timezoneId: 'Europe/Berlin', ...options, storageState: session })
  if (!session) {
    const page = await context.newPage()
    if (link) {
      await page.goto(link)
    } else {
      await page.goto(`${url}/signin`)
      await page.fill('input[type=email]', email!)
      await page.fill('input[type=password]', password!)
      await page.click('button[type=submit]')
    }
    await page.waitForURL(`${url}/`)
    await page.waitForSelector('main h1')
    session = await context.storageState()
    await page.close()
  }
  return context
}

/** A picture for people to look at, when a folder for them is given. */
export async function picture(page: Page, name: string, fullPage = true) {
  if (!shots) return
  mkdirSync(shots, { recursive: true })
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage, animations: 'disabled' })
}

/** Calls the API as the page's person does. */
export async function api<T>(page: Page, method: string, path: string, body?: unknown): Promise<T> {
  return page.evaluate(
    async ({ method, path, body }) => {
      const me = (await (await fetch('/api/v1/me')).json()) as { csrfToken: string }
      const response = await fetch(`/api/v1${path}`, {
        method,
        headers: { 'X-CSRF-Token': me.csrfToken, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), 'Idempotency-Key': Math.random().toString(36) },
        body: body === undefined ? undefined : JSON.stringify(body),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return (text ? JSON.parse(text) : undefined) as never
    },
    { method, path, body },
  )
}
