// Line icons on a grid of 24, drawn for this dashboard.
const paths = {
  sun: 'M12 4V2M12 22v-2M4 12H2M22 12h-2M5.6 5.6 4.2 4.2M19.8 19.8l-1.4-1.4M5.6 18.4l-1.4 1.4M19.8 4.2l-1.4 1.4M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
  inbox: 'M3 13l3-8h12l3 8v6H3v-6zM3 13h5l1.5 3h5L16 13h5',
  list: 'M9 6h12M9 12h12M9 18h12M4 6h.01M4 12h.01M4 18h.01',
  file: 'M6 2h8l5 5v15H6zM14 2v5h5M9 13h7M9 17h5',
  gear: 'M4 7h9M19 7h1M4 17h1M11 17h9M16 4.5v5M8 14.5v5',
  plus: 'M12 5v14M5 12h14',
  play: 'M7 4.5v15l12-7.5z',
  pause: 'M8 5v14M16 5v14',
  stop: 'M6 6h12v12H6z',
  check: 'M4.5 12.5l5 5 10-11',
  x: 'M6 6l12 12M18 6L6 18',
  alert: 'M12 3.5 2.5 20h19zM12 10v4.5M12 17.3v.01',
  clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7.5V12l3 2',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.3 15.3 21 21',
  right: 'M9 5l7 7-7 7',
  down: 'M5 9l7 7 7-7',
  back: 'M19 12H5M11 6l-6 6 6 6',
  refresh: 'M20 11a8 8 0 0 0-14.5-4L3 9.5M3 4.5v5h5M4 13a8 8 0 0 0 14.5 4l2.5-2.5M21 19.5v-5h-5',
  question: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.6 9.4a2.4 2.4 0 1 1 3.5 2.2c-.8.4-1.1.9-1.1 1.9M12 16.6v.01',
  light: 'M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 10.9V15h7v-1.1A6 6 0 0 0 12 3z',
  key: 'M8 13.5a4 4 0 1 0 0 .01M11.5 12.5 20 4M16 8l3 3',
  pin: 'M9 3h6l-1 6 4 4H6l4-4zM12 13v8',
  upload: 'M12 16V4M7 9l5-5 5 5M4 20h16',
  comment: 'M4 5h16v11H10l-5 4v-4H4z',
  out: 'M10 4H4v16h6M15 8l4 4-4 4M19 12H9',
  calendar: 'M4 6h16v14H4zM4 11h16M8 3v5M16 3v5',
  pulse: 'M3 12h4l3-8 4 16 3-8h4',
  pencil: 'M4 20l1-5L16.5 3.5l4 4L9 19zM14 6l4 4',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4 7 7 0 0 0 20 14.5z',
  screen: 'M3 5h18v11H3zM9 20h6M12 16v4',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  minus: 'M5 12h14',
  dots: 'M5 12h.01M12 12h.01M19 12h.01',
  skip: 'M5 5v14l9-7zM18 5v14',
  loop: 'M17 3l3 3-3 3M20 6H8a5 5 0 0 0-5 5M7 21l-3-3 3-3M4 18h12a5 5 0 0 0 5-5',
} as const

export type IconName = keyof typeof paths

/** An icon beside its words; the words are what is read aloud. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false" style={{ flex: 'none' }}>
      <path d={paths[name]} />
    </svg>
  )
}
