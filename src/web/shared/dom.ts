import { type IconName, iconShapes } from '../../lib/icon-shapes.ts';

export type Child = Node | string | undefined | false;
type Tag = keyof HTMLElementTagNameMap;
type Made<S> = S extends `${infer T extends Tag}.${string}` ? HTMLElementTagNameMap[T] : S extends Tag ? HTMLElementTagNameMap[S] : never;
type Properties<E> = { [K in Exclude<keyof E, 'attributes' | 'children'>]?: E[K] | undefined } & { attributes?: Record<string, string> };

/**
 * Creates an element. Strings become text nodes and are never parsed as HTML.
 * @param selector tag and classes, such as `p.notice.error`
 * @param rest optional properties, then children
 */
export function make<S extends Tag | `${Tag}.${string}`>(
  selector: S,
  ...rest: [properties: Properties<Made<S>>, ...children: Child[]] | Child[]
): Made<S> {
  const [tag = '', ...classes] = selector.split('.');
  const [first, ...others] = rest;
  const hasProperties = typeof first === 'object' && !(first instanceof Node);
  const { attributes = {}, ...properties } = hasProperties ? (first as { attributes?: Record<string, string> }) : {};
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(' ');
  Object.assign(element, properties);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  const children = (hasProperties ? others : rest) as Child[];
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element as Made<S>;
}

export function makeSvg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string>): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Creates an icon that is hidden from screen readers. */
export function icon(name: IconName): SVGSVGElement {
  return drawnIcon(iconShapes[name]);
}

/** Creates an icon from a path on a grid of 24 units. It is hidden from screen readers. */
export function drawnIcon(shape: string): SVGSVGElement {
  const svg = makeSvg('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' });
  svg.append(makeSvg('path', { d: shape }));
  return svg;
}

/** Creates a button with an icon before its label. With the class `compact`, narrow screens show only the icon. */
export function makeButton(label: string, iconName: IconName | undefined, action: () => void, className = ''): HTMLButtonElement {
  const shown = className.includes('compact') ? make('span', { className: 'wide' }, label) : label;
  const button = make('button', { type: 'button', className, title: shown === label ? '' : label }, iconName && icon(iconName), shown);
  button.addEventListener('click', action);
  return button;
}

/** Creates a quiet button that shows only an icon. Screen readers get its label. */
export function iconButton(label: string, iconName: IconName, action: () => void): HTMLButtonElement {
  const button = makeButton('', iconName, action, 'quiet');
  button.ariaLabel = label;
  return button;
}

/** Returns the element with an ID that must be on the page. @throws Error if it is missing */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no #${id}.`);
  return element;
}
