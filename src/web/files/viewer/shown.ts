import { make } from '../../shared/dom.ts';

export interface Shown {
  nodes: Node[];
  /** Buttons of its own, before those of the viewer. */
  tools?: HTMLElement[];
  /** Is told of each key before the viewer. @returns whether it was one of its own */
  onKey?: (key: string) => boolean;
  /** Called once another file is shown. */
  clean?: () => void;
}

/** A message in the place of the file. */
export function alert(message: string): Shown {
  return { nodes: [make('p.trouble', { role: 'alert' }, message)] };
}
