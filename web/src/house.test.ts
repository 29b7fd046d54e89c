import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

// Who may know whom. Each floor lists what it may import besides itself; features
// besides themselves means the same feature only.
const floors: Record<string, string[]> = {
  places: [],
  i18n: [],
  api: [],
  ui: ['i18n'],
  features: ['api', 'i18n', 'places', 'ui'],
  routes: ['api', 'features', 'i18n', 'places', 'ui'],
  main: ['api', 'i18n', 'routes', 'ui'],
}

const root = resolve(__dirname)
const sources = (readdirSync(root, { recursive: true }) as string[]).filter((f) => /\.tsx?$/.test(f) && !/\.(test|gen)\.tsx?$/.test(f))

const roomOf = (file: string) => {
  const [floor, feature] = relative(root, file).split('/')
  return { floor: floor!.replace(/\.tsx?$/, ''), feature: floor === 'features' ? feature : undefined }
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'((?:@\/|\.)[^']*)'/g)].map(([, path]) =>
    path!.startsWith('@/') ? join(root, path!.slice(2)) : resolve(root, dirname(file), path!),
  )
}

/** What a file may not import, as "file → import". */
function breaches(file: string, imports: string[]): string[] {
  const from = roomOf(join(root, file))
  return imports
    .filter((path) => {
      const to = roomOf(path)
      if (to.floor === from.floor) return from.feature !== to.feature
      return !floors[from.floor]?.includes(to.floor)
    })
    .map((path) => `${file} → ${relative(root, path)}`)
}

describe('the floors', () => {
  it('hold in every file', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(sources.flatMap((file) => breaches(file, importsOf(file)))).toEqual([])
  })

  it.each([
    ['ui/Button.tsx', 'api/tasks', true],
    ['ui/Button.tsx', 'ui/Icon', false],
    ['features/tasks/TaskForm.tsx', 'features/briefs/BriefCard', true],
    ['features/tasks/TaskForm.tsx', 'features/tasks/looks', false],
    ['features/tasks/TaskForm.tsx', 'routes/me', true],
    ['api/live.ts', 'i18n/en', true],
    ['routes/TaskPage.tsx', 'features/briefs/BriefCard', false],
  ])('%s importing %s is a breach: %s', (file, path, wrong) => {
    expect(breaches(file, [join(root, path)]).length > 0).toBe(wrong)
  })

  it('the components know no word of the domain', () => {
    const words = /\b(task|brief|topic|tick|operation|handoff|heartbeat)s?\b/i
    const guilty = sources.filter((f) => f.startsWith('ui/')).filter((f) => words.test(readFileSync(join(root, f), 'utf8').replace(/(styles|item)\.task/g, '')))
    expect(guilty).toEqual([])
  })

  it('no text for people stands in a component', () => {
    // JSX text with a word of four letters or more belongs in the dictionary.
    const literal = /(?<!=)>\s*([A-Z][a-z]{3,}(?: [a-z]+)*)\s*</
    const guilty = sources.filter((f) => f.endsWith('.tsx')).flatMap((f) => {
      const match = literal.exec(readFileSync(join(root, f), 'utf8'))
      return match ? [`${f}: ${match[1]}`] : []
    })
    expect(guilty).toEqual([])
  })
})
