import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { live, queries } from './api/live'
import { meQuery } from './api/session'
import { isLanguage, loadLanguage, pickLanguage } from './i18n'
import { Crashed } from './routes/edges'
import { Routes } from './routes/Routes'
import { Boundary } from './ui/Boundary'
import { applyTheme } from './ui/theme'
import './ui/tokens.css'
import './ui/base.css'

applyTheme()
// The stream starts beside the first query: what changes while the page loads is not missed.
if (!location.pathname.startsWith('/signin')) live.start()

// The first paint is in the right language already. A server that does not answer
// is no reason to show nothing.
const me = await queries.fetchQuery({ ...meQuery, retry: false }).catch(() => null)
const lang = me && isLanguage(me.person.language) ? me.person.language : pickLanguage(navigator.languages)
await loadLanguage(lang).catch(() => undefined)

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Boundary fallback={<Crashed />}>
        <Routes />
      </Boundary>
    </QueryClientProvider>
  </StrictMode>,
)
