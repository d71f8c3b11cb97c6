import { type IconName, iconShapes } from '../../lib/icon-shapes.ts';

type Properties<E> = { [K in keyof E]?: E[K] | undefined } & { attributes?: Record<string, string> };
export type Child = Node | string | undefined | false;

/** Makes an element. Texts become text nodes: nothing is ever read as HTML. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<Omit<Properties<HTMLElementTagNameMap[K]>, 'attributes'>> & { attributes?: Record<string, string> } = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const { attributes = {}, ...rest } = properties;
  const element = document.createElement(tag);
  Object.assign(element, rest);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

const svgNamespace = 'http://www.w3.org/2000/svg';

/** An icon, hidden from readers. */
export function icon(name: IconName): SVGSVGElement {
  return drawnIcon(iconShapes[name]);
}

/** An icon of a shape on a grid of 24, hidden from readers. */
export function drawnIcon(shape: string): SVGSVGElement {
  const svg = document.createElementNS(svgNamespace, 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(svgNamespace, 'path');
  path.setAttribute('d', shape);
  svg.append(path);
  return svg;
}

/** A button with an icon before its label; with the class `compact` narrow screens show the icon alone. */
export function makeButton(label: string, iconName: IconName | undefined, action: () => void, className = ''): HTMLButtonElement {
  const shown = className.includes('compact') ? make('span', { className: 'wide' }, label) : label;
  const button = make('button', { type: 'button', className, title: shown === label ? '' : label }, iconName && icon(iconName), shown);
  button.addEventListener('click', action);
  return button;
}

/** The element with an ID that every listing page has. @throws when the page is not a listing */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no #${id}.`);
  return element;
}
