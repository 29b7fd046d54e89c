import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type DragEvent, useRef, useState } from 'react'
import { useT } from '@/i18n'
import { Button } from '@/ui/Button'
import { cx } from '@/ui/cx'
import { toast, toastProblem } from '@/ui/Toasts'
import styles from './Upload.module.css'
import { uploadAll } from './upload'

/** Text files become documents: chosen, or dropped. */
export function Upload({ folder }: { folder: string }) {
  const t = useT()
  const client = useQueryClient()
  const input = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)
  const send = useMutation({
    mutationFn: (files: File[]) => uploadAll(files, folder),
    onSuccess: ({ made, refused }) => {
      if (made.length > 0) toast(t.documents.uploaded(made.length))
      for (const r of refused) toast(r.why === 'tooLarge' ? t.documents.tooLarge(r.name) : t.documents.notText(r.name), 'bad')
    },
    onError: (error) => toastProblem(t, error),
    onSettled: () => client.invalidateQueries({ queryKey: ['documents'] }),
  })
  const drop = (e: DragEvent) => {
    e.preventDefault()
    setOver(false)
    const files = [...e.dataTransfer.files]
    if (files.length > 0) send.mutate(files)
  }
  return (
    <div className={cx(styles.zone, over && styles.over)} onDragOver={(e) => { e.preventDefault(); setOver(true) }} onDragLeave={() => setOver(false)} onDrop={drop}>
      <input ref={input} type="file" multiple hidden accept=".md,.markdown,.txt,.log,.csv,.tsv,.json,.html,.htm,.yaml,.yml,.xml,text/*" onChange={(e) => { const files = [...(e.target.files ?? [])]; e.target.value = ''; if (files.length > 0) send.mutate(files) }} />
      <Button small icon="upload" busy={send.isPending} onClick={() => input.current?.click()}>{t.documents.upload}</Button>
      <span>{t.documents.uploadHint}</span>
    </div>
  )
}
