import { type IconName, iconShapes } from '../../../lib/icon-shapes.ts';
import { Html } from './html.ts';

/** An icon as inline SVG in the colour of the text; hidden from readers, which get the label beside it. */
export function icon(name: IconName): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="${iconShapes[name]}"/></svg>`);
}
