import { readFileSync } from 'node:fs'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { excerpt, Markdown, safeHref } from './Markdown'

const html = (text: string) => renderToStaticMarkup(<Markdown text={text} />)

describe('text from agents is data', () => {
  it.each([
    ['a tag', '<img src=x onerror=alert(1)>'],
    ['a script', 'hi <script>alert(1)</script> there'],
    ['a block', '<iframe src="https://example.com"></iframe>\n\ntext'],
    ['a style', '<style>body{display:none}</style>'],
    ['a script in a link', '[x](javascript:alert(1))'],
    ['… with a blank', '[x](<java script:alert(1)>)'],
    ['… in upper case', '[x](JaVaScRiPt:alert(1))'],
    ['… as an entity', '[x](&#106;avascript:alert(1))'],
    ['a data address', '[x](data:text/html;base64,PHNjcmlwdD4=)'],
    ['an image', '![x](https://example.com/pixel.png)'],
    ['a handler in a title', '[x](https://example.com "\\" onmouseover=\\"alert(1)")'],
    ['a tag in code', '`<b>`\n\n```\n<script>\n```'],
  ])('%s does nothing', (_, text) => {
    const out = html(text)
    expect(out).not.toMatch(/<(script|img|iframe|style|b)[\s>]/i)
    expect(out).not.toMatch(/href="(?!https?:|mailto:|\/|#)/i)
    expect(out.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]+\son\w+=/i)
  })
  it('a tag shows as the text it is', () => expect(html('<b>x</b>')).toContain('&lt;b&gt;'))
  it('links leave no trace and open apart', () => expect(html('[x](https://example.com)')).toContain('target="_blank" rel="noopener noreferrer nofollow"'))
  it('what was escaped once is not escaped twice', () => expect(html('a & b < c "d"')).toContain('a &amp; b &lt; c &quot;d&quot;'))

  it.each([['https://a.b', true], ['mailto:a@b.c', true], ['/tasks/T-1', true], ['#x', true], ['//evil.example', false], ['/\\evil.example', false], ['javascript:1', false], ['file:///etc', false], ['T-1', false]])('%s may be followed: %s', (href, may) =>
    expect(safeHref(href) !== undefined).toBe(may),
  )
})

describe('Markdown', () => {
  it.each([
    ['headings below the page’s own', '# A\n## B', '<h3>A</h3><h4>B</h4>'],
    ['lists', '- a\n- **b**', '<ul><li>a</li><li><strong>b</strong></li></ul>'],
    ['tables', '|a|\n|-|\n|1|', '<th>a</th>'],
    ['checklists', '- [x] done', 'type="checkbox"'],
    ['line breaks as written', 'a\nb', 'a<br/>b'],
  ])('%s', (_, text, part) => expect(html(text)).toContain(part))

  it('a line of it for lists', () => {
    expect(excerpt('# Title\n\nSome **bold** text, with `code`.\n\n- one\n- two')).toBe('Title Some bold text, with code. one two')
    expect(excerpt('word '.repeat(200), 40).length).toBeLessThanOrEqual(41)
  })
})

// WCAG 2.2, 1.4.3: text against its ground, in both themes.
describe('the colours', () => {
  const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8')
  const tokens = new Map([...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(([, name, light, dark]) => [name!, [light!, dark!]] as const))
  const luminance = (hex: string) => {
    const [r, g, b] = [1, 3, 5].map((i) => {
      const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
  }
  const contrast = (a: string, b: string) => {
    const [hi, lo] = [luminance(a), luminance(b)].sort((x, y) => y - x)
    return (hi! + 0.05) / (lo! + 0.05)
  }
  const grounds = ['paper', 'surface', 'sunken', 'hover']
  const pairs: [string, string, number][] = [
    ...['ink', 'ink-soft', 'ink-faint', 'accent', 'bad-ink', 'good-ink', 'warn-ink', 'info-ink'].flatMap((ink) => grounds.map((g) => [ink, g, 4.5] as [string, string, number])),
    ...['neutral', 'info', 'good', 'warn', 'bad'].map((tone) => [`${tone}-ink`, `${tone}-wash`, 4.5] as [string, string, number]),
    ...['ink', 'ink-soft', 'accent'].map((ink) => [ink, 'accent-wash', 4.5] as [string, string, number]),
    ['on-accent', 'accent', 4.5], ['on-accent', 'accent-hover', 4.5], ['on-danger', 'danger', 4.5],
    ['ink-soft', 'neutral-wash', 4.5],
    // 1.4.11: borders of fields and the focus ring
    ...['line-strong', 'focus'].flatMap((ink) => ['paper', 'surface'].map((g) => [ink, g, 3] as [string, string, number])),
  ]
  it.each(pairs)('%s on %s: %s to 1', (ink, ground, least) => {
    for (const theme of [0, 1]) expect(contrast(tokens.get(ink)![theme]!, tokens.get(ground)![theme]!), theme ? 'dark' : 'light').toBeGreaterThanOrEqual(least)
  })
})
