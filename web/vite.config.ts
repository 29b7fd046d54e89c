import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// `npm run dev` serves the sources and passes the API on to a running Dogwatch.
const server = process.env.DOGWATCH_URL ?? 'http://127.0.0.1:8420'

export default defineConfig({
  plugins: [react()],
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
        // request, and compress worse. Pages and the other language stay apart.
        codeSplitting: {
          groups: [
            { name: 'shared', test: /src\/(api|ui)\/|src\/(places|i18n\/(?!.*zh-CN))/ },
            { name: 'vendor', test: /node_modules/ },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': server, '/auth/start': server } },
})
