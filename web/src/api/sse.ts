/** One message of a text/event-stream. */
export type Message = { event: string; data: string; id: string | undefined }

/**
 * A parser for text/event-stream (WHATWG HTML, 9.2.6): feed it chunks as they
 * come, it calls back for each whole message, and for an id that comes without
 * data. Comments (pings) are dropped here; the caller sees them as bytes.
 */
export function parser(onMessage: (message: Message) => void) {
  let rest = ''
  let event = ''
  let data: string[] = []
  let id: string | undefined

  function line(text: string) {
    if (text === '') {
      if (data.length > 0 || id !== undefined) onMessage({ event: event || 'message', data: data.join('\n'), id })
      event = ''
      data = []
      id = undefined
      return
    }
    const colon = text.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id' && !value.includes('\0')) id = value
  }

  return (chunk: string) => {
    rest += chunk
    // A \r at the very end may be the first half of \r\n: it waits.
    const end = rest.endsWith('\r') ? rest.length - 1 : rest.length
    const lines = rest.slice(0, end).split(/\r\n|\n|\r/)
    rest = (lines.pop() ?? '') + rest.slice(end)
    lines.forEach(line)
  }
}
