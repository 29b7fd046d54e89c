// What a browser fetches before Today is there, gzipped: the entry, what it needs,
// and the page itself. Fails above the budget.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const budget = 150_000
const dist = new URL('../dist/', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', dist), 'utf8'))

const files = new Set()
function take(key) {
  const chunk = manifest[key]
  if (!chunk || files.has(chunk.file)) return
  files.add(chunk.file)
  for (const css of chunk.css ?? []) files.add(css)
  for (const dependency of chunk.imports ?? []) take(dependency)
}
take('index.html')
take('src/routes/TodayPage.tsx')
files.add('index.html')

let total = 0
for (const file of [...files].sort()) {
  const size = gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length
  total += size
  console.log(String(size).padStart(8), file)
}
console.log(String(total).padStart(8), `first load of Today, gzip; budget ${budget}`)
if (total > budget) process.exit(1)
