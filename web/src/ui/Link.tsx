import type { ComponentProps } from 'react'
import { Link as RouterLink, useLocation } from 'wouter'

let fetchAhead: (href: string) => void = () => undefined

/** Told by the routes: how to fetch a page's code before it is opened. */
export function setFetchAhead(fetch: (href: string) => void) {
  fetchAhead = fetch
}

type Props = Omit<ComponentProps<'a'>, 'href'> & {
  to: string
  replace?: boolean
  /** Marks the link when its page (or one below it) is open. */
  here?: 'exact' | 'below'
  'data-row'?: boolean
}

/** A link within the dashboard. Pointing at it fetches the page's code. */
export function Link({ to, here, onPointerEnter, onFocus, ...rest }: Props) {
  const [path] = useLocation()
  const page = to.split('?')[0]!
  const current = here && (path === page || (here === 'below' && path.startsWith(`${page}/`)))
  return (
    <RouterLink
      {...rest}
      {...(current ? { 'aria-current': 'page' as const } : {})}
      href={to}
      onPointerEnter={(e) => {
        fetchAhead(page)
        onPointerEnter?.(e)
      }}
      onFocus={(e) => {
        fetchAhead(page)
        onFocus?.(e)
      }}
    />
  )
}
