/** Joins class names, leaving out what is not set; undefined when nothing is left. */
export const cx = (...names: (string | false | null | undefined)[]) => names.filter(Boolean).join(' ') || undefined
