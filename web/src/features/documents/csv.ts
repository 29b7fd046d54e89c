/**
 * Rows of a CSV (RFC 4180, and with tabs or semicolons where the first line has
 * more of them than commas). Parses at most `limit` rows and counts the lines of
 * the rest.
 */
export function parseCsv(text: string, limit: number): { rows: string[][]; total: number } {
  const firstLine = text.slice(0, text.indexOf('\n') < 0 ? undefined : text.indexOf('\n'))
  const separator = [',', ';', '\t'].reduce((best, c) => (firstLine.split(c).length > firstLine.split(best).length ? c : best))
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let quoted = false
  let i = text.charCodeAt(0) === 0xfeff ? 1 : 0
  const endRow = () => {
    row.push(cell)
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
    cell = ''
  }
  for (; i < text.length && rows.length < limit; i++) {
    const c = text[i]!
    if (quoted) {
      if (c !== '"') cell += c
      else if (text[i + 1] === '"') cell += text[++i]
      else quoted = false
    } else if (c === '"' && cell === '') quoted = true
    else if (c === separator) {
      row.push(cell)
      cell = ''
    } else if (c === '\n') endRow()
    else if (c !== '\r') cell += c
  }
  if (rows.length < limit && (cell !== '' || row.length > 0)) endRow()
  const rest = text.slice(i).split('\n').filter((line) => line.trim() !== '').length
  return { rows, total: rows.length + rest }
}
