import { Lexer, type Token, type Tokens } from 'marked'
import { Fragment, memo, type ReactNode } from 'react'
import { cx } from './cx'
import styles from './Markdown.module.css'

// Text from agents is data. The parser's tokens become React elements, so no HTML
// is ever made from it: a tag in the text shows as the text it is, an image as a
// link (fetching it would tell its server that somebody reads), and a link keeps
// only addresses that a person can judge.

const options = { gfm: true, breaks: true }

/** The address of a link if it is one that may be followed. */
export function safeHref(href: string): string | undefined {
  const address = href.trim()
  if (/^(https?:\/\/|mailto:)/i.test(address)) return address
  if (/^\/(?![/\\])/.test(address) || address.startsWith('#')) return address
  return undefined
}

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
const plain = (text: string) => text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity)

function Address({ href, title, children }: { href: string; title?: string | null; children: ReactNode }) {
  const safe = safeHref(href)
  if (!safe) return <>{children}</>
  const outside = !safe.startsWith('/') && !safe.startsWith('#')
  return <a href={safe} title={title ?? undefined} {...(outside ? { target: '_blank', rel: 'noopener noreferrer nofollow' } : {})}>{children}</a>
}

function children(tokens: Token[] | undefined, fallback = ''): ReactNode {
  return tokens ? tokens.map((token, i) => <Fragment key={i}>{node(token)}</Fragment>) : plain(fallback)
}

function node(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'paragraph':
      return <p>{children(token.tokens)}</p>
    case 'text':
      return token.tokens ? children(token.tokens) : plain(token.text)
    case 'escape':
      return plain(token.text)
    case 'heading': {
      // The page has its own first two levels.
      const Tag = (['h3', 'h4', 'h5', 'h6'] as const)[Math.min((token as Tokens.Heading).depth - 1, 3)]!
      return <Tag>{children(token.tokens)}</Tag>
    }
    case 'strong':
      return <strong>{children(token.tokens)}</strong>
    case 'em':
      return <em>{children(token.tokens)}</em>
    case 'del':
      return <del>{children(token.tokens)}</del>
    case 'codespan':
      return <code>{plain(token.text)}</code>
    case 'code':
      return <pre tabIndex={0}><code>{token.text}</code></pre>
    case 'br':
      return <br />
    case 'hr':
      return <hr />
    case 'blockquote':
      return <blockquote>{children(token.tokens)}</blockquote>
    case 'link':
      return <Address href={token.href} title={token.title}>{children(token.tokens)}</Address>
    case 'image':
      return <Address href={token.href}>{token.text || token.href}</Address>
    case 'list': {
      const { ordered, start, items } = token as Tokens.List
      const body = items.map((item, i) => (
        <li key={i} className={cx(item.task && styles.task)}>
          {item.task && <input type="checkbox" checked={item.checked ?? false} disabled readOnly aria-hidden="true" />}
          {children(item.tokens)}
        </li>
      ))
      return ordered ? <ol start={start === '' ? undefined : start}>{body}</ol> : <ul>{body}</ul>
    }
    case 'checkbox':
      return null
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return (
        <div className={styles.scroll} tabIndex={0}>
          <table>
            <thead><tr>{header.map((cell, i) => <th key={i} style={{ textAlign: cell.align ?? undefined }}>{children(cell.tokens)}</th>)}</tr></thead>
            <tbody>{rows.map((row, r) => <tr key={r}>{row.map((cell, i) => <td key={i} style={{ textAlign: cell.align ?? undefined }}>{children(cell.tokens)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )
    }
    case 'html':
      return <span className={styles.raw}>{token.raw}</span>
    default:
      return token.raw
  }
}

export const Markdown = memo(function Markdown({ text, small }: { text: string; small?: boolean }) {
  return <div className={cx(styles.markdown, small && styles.small)}>{children(new Lexer(options).lex(text))}</div>
})

/** The words of a Markdown text in one line, for lists. */
export function excerpt(text: string, length = 240): string {
  const words: string[] = []
  const walk = (tokens: Token[]) => {
    for (const token of tokens) {
      if (words.join(' ').length > length) return
      if (token.type === 'list') (token as Tokens.List).items.forEach((item) => walk(item.tokens))
      else if (token.type === 'table') words.push(...(token as Tokens.Table).header.map((c) => c.text))
      else if ('tokens' in token && token.tokens) walk(token.tokens)
      else if ('text' in token && typeof token.text === 'string') words.push(plain(token.text).trim())
    }
  }
  walk(new Lexer(options).lex(text.slice(0, 4 * length)))
  const line = words.join(' ').replace(/\s+/g, ' ').replace(/ ([.,;:!?])/g, '$1')
  return line.length > length ? `${line.slice(0, length).trimEnd()}…` : line
}
