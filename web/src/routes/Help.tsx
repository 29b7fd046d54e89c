import { useT } from '@/i18n'
import { Dialog } from '@/ui/Dialog'
import styles from './Help.module.css'

/** The keyboard's sheet. */
export function Help({ places, onClose }: { places: { name: string; key: string }[]; onClose: () => void }) {
  const t = useT()
  const acts: [string[], string][] = [
    [['n'], t.app.newTask],
    [['/'], t.keys.search],
    [['j'], t.keys.moveDown],
    [['k'], t.keys.moveUp],
    [['Enter'], t.keys.open],
    [['a'], t.keys.buttons],
    [['x'], t.keys.pick],
    [['Shift', 'x'], t.keys.pickRange],
    [['Ctrl', 'Enter'], t.keys.submit],
    [['Esc'], t.keys.close],
    [['?'], t.keys.help],
  ]
  return (
    <Dialog title={t.keys.title} onClose={onClose} wide>
      <div className={styles.sheet}>
        <section>
          <h3>{t.keys.go}</h3>
          <dl>{places.map((p) => <div key={p.key}><dt><kbd>g</kbd> {t.keys.then} <kbd>{p.key}</kbd></dt><dd>{p.name}</dd></div>)}</dl>
        </section>
        <section>
          <h3>{t.keys.act}</h3>
          <dl>{acts.map(([keys, what]) => <div key={what}><dt>{keys.map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
        </section>
      </div>
    </Dialog>
  )
}
