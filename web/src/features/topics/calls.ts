/** Names of tools with how often each was called, in order: "read_document ×8". */
export function counted(calls: { name: string }[]): string[] {
  const counts = new Map<string, number>()
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => (count > 1 ? `${name} ×${count}` : name))
}

/** What a call is about, in a few words: the short values among its arguments. */
export function gist(args: string, length = 80): string {
  let parsed: unknown
  try {
    parsed = JSON.parse(args)
  } catch {
    return args.slice(0, length)
  }
  if (typeof parsed !== 'object' || parsed === null) return String(parsed).slice(0, length)
  const words = Object.values(parsed).filter((v): v is string | number => (typeof v === 'string' && v !== '') || typeof v === 'number').map(String)
  const line = words.join(', ').replace(/\s+/g, ' ')
  return line.length > length ? `${line.slice(0, length)}…` : line
}
