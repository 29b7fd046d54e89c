import { createDocument } from '@/api/documents'
import type { Document } from '@/api/types'

// The server's limit on a document; refused here so that nobody waits for an upload in vain.
const maxBytes = 4 * 1024 * 1024

const kindByEnding: Record<string, Document['kind']> = { md: 'markdown', markdown: 'markdown', csv: 'csv', tsv: 'csv', json: 'json', html: 'html', htm: 'html' }

export type Refused = { name: string; why: 'tooLarge' | 'notText' }

/** The kind of a file by its name. */
export const kindOf = (name: string): Document['kind'] => kindByEnding[name.split('.').at(-1)!.toLowerCase()] ?? 'text'

/** Reads a file as UTF-8 text, or says why not. */
export async function textOf(file: File): Promise<string | Refused> {
  if (file.size > maxBytes) return { name: file.name, why: 'tooLarge' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
    return text.includes('\0') ? { name: file.name, why: 'notText' } : text
  } catch {
    return { name: file.name, why: 'notText' }
  }
}

/** Makes a document of each text file; what is no text is reported, not dropped. */
export async function uploadAll(files: File[], folder: string): Promise<{ made: Document[]; refused: Refused[] }> {
  const made: Document[] = []
  const refused: Refused[] = []
  for (const file of files) {
    const text = await textOf(file)
    if (typeof text !== 'string') refused.push(text)
    else made.push(await createDocument({ title: file.name, content: text, kind: kindOf(file.name), folder: folder || undefined }))
  }
  return { made, refused }
}
