import { make } from '../../shared/dom.ts';

export interface Shown {
  nodes: Node[];
  /** Buttons for this file, placed before those of the viewer. */
  tools?: HTMLElement[];
  /** Receives each key before the viewer does. @returns whether it handled the key */
  onKey?: (key: string) => boolean;
  /** Called when another file is shown. */
  clean?: () => void;
}

/** Shows a message in place of the file. */
export function alert(message: string): Shown {
  return { nodes: [make('p.trouble', { role: 'alert' }, message)] };
}
