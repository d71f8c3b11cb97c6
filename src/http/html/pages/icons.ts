import { Html } from './html.ts';

/** Shapes of our own on a grid of 24, drawn with a line of 1.75. */
export const iconShapes = {
  files: 'M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z',
  upload: 'M12 15V4m-4.5 4L12 3.5 16.5 8M4 15v3a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-3',
  download: 'M12 4v11m-4.5-4 4.5 4.5 4.5-4.5M4 16v2a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-2',
  uploadFolder: 'M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zm9 8.5v-5m-2.5 2.5L12 10l2.5 2.5',
  newFolder: 'M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zm9 3.5v5M9.5 13h5',
  trash: 'M4 7h16M9.5 7V5a1 1 0 0 1 1-1h3a1 1 0 0 1 1 1v2M6.5 7l.8 11.2a2 2 0 0 0 2 1.8h5.4a2 2 0 0 0 2-1.8L17.5 7M10 11v5m4-5v5',
  key: 'M14.5 9.5a5 5 0 1 0-4 4.9L12 16h2v2h2v2h4v-3.5l-5.7-5.7a5 5 0 0 0 .2-1.3zM8.5 9h.01',
  out: 'M14 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h8m2-12 4 4-4 4m4-4H9.5',
  order: 'M4 7h9M4 12h6M4 17h4m9-11v12m-3.5-3.5L17 18l3.5-3.5',
  grid: 'M4 4h6.5v6.5H4zm9.5 0H20v6.5h-6.5zM4 13.5h6.5V20H4zm9.5 0H20V20h-6.5z',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zm0-5v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4m0-12.8L17 7M7 17l-1.4 1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  system: 'M4 5h16v11H4zM9 20h6m-3-4v4',
  settings: 'M4 7h9m5 0h2M4 17h2m5 0h9M15.5 4.5v5m-7 5v5',
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20a7.5 7.5 0 0 1 15 0',
  recent: 'M12 7.5V12l3 2M4 12a8 8 0 1 0 2.6-5.9M4 4.5V8h3.5',
  code: 'm8.5 7-5 5 5 5m7-10 5 5-5 5',
  keyboard: 'M3.5 6.5h17v11h-17zM7 10h.01M11 10h.01M15 10h.01M18 10h.01M8 14h8',
  rename: 'M4 20h4L19.5 8.5l-4-4L4 16zM13.5 6.5l4 4',
  copy: 'M9 8h9a1.5 1.5 0 0 1 1.5 1.5v9A1.5 1.5 0 0 1 18 20H9a1.5 1.5 0 0 1-1.5-1.5v-9A1.5 1.5 0 0 1 9 8zM4.5 15.5V6A1.5 1.5 0 0 1 6 4.5h9.5',
  eye: 'M3 12s3.25-6 9-6 9 6 9 6-3.25 6-9 6-9-6-9-6zm9-2.75a2.75 2.75 0 1 0 0 5.5 2.75 2.75 0 0 0 0-5.5z',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm4.7 11.2L20 20',
  move: 'M4 12h15m-5-5 5 5-5 5',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  pause: 'M9 6v12m6-12v12',
  resume: 'M8 5.5v13l10-6.5z',
  close: 'M6 6l12 12M18 6 6 18',
  help: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm-2.6 6.6a2.6 2.6 0 1 1 3.7 2.4c-.7.4-1.1.9-1.1 1.7m0 2.8h.01',
  left: 'm14 7-5 5 5 5',
  right: 'm10 7 5 5-5 5',
  up: 'm7 14 5-5 5 5',
  down: 'm7 10 5 5 5-5',
} as const;

export type IconName = keyof typeof iconShapes;

/** An icon as inline SVG in the colour of the text; hidden from readers, which get the label beside it. */
export function icon(name: IconName): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="${iconShapes[name]}"/></svg>`);
}
