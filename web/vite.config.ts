import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

// `npm run dev` serves the sources and passes the API on to a running Dogwatch.
const server = process.env.DOGWATCH_URL ?? 'http://127.0.0.1:8420'

/** Beside each file its compressed twin, so that the server has nothing to compute. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      const dist = fileURLToPath(new URL('./dist/', import.meta.url))
      for (const name of readdirSync(dist, { recursive: true }) as string[]) {
        if (/\.(js|css|html|svg)$/.test(name)) writeFileSync(`${dist}${name}.gz`, gzipSync(readFileSync(dist + name), { level: constants.Z_BEST_COMPRESSION }))
      }
    },
  }
}

export default defineConfig({
  plugins: [react(), compressed()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: {
    // light-dark() and <dialog> as they are: what every current browser knows.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0, // the content security policy allows no data: scripts or fonts
    manifest: true, // read by scripts/first-load.mjs
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // One chunk of what every page uses: thirty small files would each be a
        // request, and compress worse. Pages, their fields and words, and the
        // other language stay apart.
        codeSplitting: {
          groups: [
            { name: 'shared', test: /src\/(api|ui(?!\/week))\/|src\/(places|i18n\/(?!.*zh-CN|planning))/ },
            { name: 'vendor', test: /node_modules/ },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': server, '/auth/start': server } },
})
