import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { assertAccessible, login, openBrowser } from './browser.ts';
import { pngHead } from './pictures.ts';
import { startServer } from './server.ts';

const svg = (content: string, attributes = '') =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 90 90" ${attributes}>${content}</svg>`;

const base64 = (content: string | Buffer) => Buffer.from(content).toString('base64');

/** Returns nested parts. Each level contains the previous one ten times. */
function levels(make: (level: number, inner: string) => string, count = 9): string {
  let parts = '';
  for (let level = 1; level <= count; level++) parts += make(level, `l${level - 1}`);
  return parts;
}

const tenTimes = (part: string) => part.repeat(10);
const rect = '<rect width="9" height="9"/>';
const many = (part: string, count: number) => part.repeat(count);

/** Drawings of a few bytes or kilobytes for which a browser would need minutes, or would never finish. */
const attacks: Record<string, string> = {
  'copies of copies': svg(
    `<defs><g id="l0">${rect}</g>${levels((level, inner) => `<g id="l${level}">${tenTimes(`<use href="#${inner}"/>`)}</g>`)}</defs><use href="#l9"/>`,
  ),
  'copies by xlink, with escapes': svg(
    `<defs><g id="l0">${rect}</g>${levels((level, inner) => `<symbol id="l${level}">${tenTimes(`<use xlink:href="x.svg?inline#%6c${inner.slice(1)}"/>`)}</symbol>`)}</defs><use href="#l9"/>`,
  ),
  'copies by an animation': svg(
    `<defs><g id="l0">${rect}</g>${levels((level, inner) => `<g id="l${level}">${tenTimes(`<use><set attributeName="href" to="#${inner}"/></use>`)}</g>`)}</defs><use href="#l9"/>`,
  ),
  'copies under a name with a bracket': svg(
    `<defs><g id="l)0">${rect}</g>${levels((level, inner) => `<g id="l)${level}">${tenTimes(`<use href="#l)${inner.slice(1)}"/>`)}</g>`)}</defs><use href="#l)9"/>`,
  ),
  'a copy of itself': svg(`<g id="a">${rect}<use href="#b"/></g><g id="b"><use href="#a"/></g>`),
  'patterns in patterns': svg(
    `${levels((level, inner) => `<pattern id="l${level}" width="9" height="9">${tenTimes(`<rect width="9" height="9" fill="url(#${inner})"/>`)}</pattern>`)}<rect width="90" height="90" fill="url(#l9)"/>`,
  ),
  'patterns by a style': svg(
    `<style>${levels((level) => `.c${level}{fill:url("#l${level}")}`)}</style>${levels((level, inner) => `<pattern id="l${level}" width="9" height="9">${tenTimes(`<rect class="c${inner.slice(1)}" width="9" height="9"/>`)}</pattern>`)}<rect width="90" height="90" class="c9"/>`,
  ),
  'patterns by a style with escapes': svg(
    `${levels((level, inner) => `<pattern id="l${level}" width="9" height="9">${tenTimes(`<rect style="fill:u\\72l(#${inner})" width="9" height="9"/>`)}</pattern>`)}<rect width="90" height="90" fill="u\\72l(#l9)"/>`,
  ),
  'patterns by a variable': svg(
    `<style>svg{${levels((level) => `--v${level}:url(#l${level});`)}}</style>${levels((level, inner) => `<pattern id="l${level}" width="9" height="9">${tenTimes(`<rect fill="var(--v${inner.slice(1)})" width="9" height="9"/>`)}</pattern>`)}<rect width="90" height="90" fill="var(--v9)"/>`,
  ),
  'masks in masks': svg(
    `${levels((level, inner) => `<mask id="l${level}">${tenTimes(`<rect width="9" height="9" mask="url(#${inner})"/>`)}</mask>`)}<rect width="90" height="90" mask="url(#l9)"/>`,
  ),
  'a pattern for each of many shapes': svg(
    `<pattern id="p" width="9" height="9">${many(rect, 2000)}</pattern><g fill="url(#p)">${many('<rect width="90" height="90"/>', 2000)}</g>`,
  ),
  'markers on all points': svg(`<marker id="m">${many(rect, 1000)}</marker><path marker-mid="url(#m)" d="M0 0${many('l1 1', 20_000)}"/>`),
  'a filter of 300 steps': svg(
    `<filter id="f" x="-99999" y="-99999" width="999999" height="999999">${many('<feGaussianBlur stdDeviation="999"/>', 300)}</filter><rect width="90" height="90" filter="url(#f)"/>`,
  ),
  'a filter for each of many shapes': svg(`<style>rect{filter:blur(99px) drop-shadow(0 0 99px red)}</style>${many(rect, 1000)}`),
  'a filter with expensive steps': svg(
    `<filter id="f"><feTurbulence numOctaves="9999" baseFrequency="0.9"/><feConvolveMatrix order="500"/></filter><rect width="90" height="90" filter="url(#f)"/>`,
  ),
  'an embedded drawing': svg(`<image width="9" height="9" href="data:image/svg+xml;base64,${base64(svg(rect))}"/>`),
  'an embedded drawing, by a style': svg(
    `<foreignObject width="90" height="90"><div xmlns="http://www.w3.org/1999/xhtml" style="background:url('data:image/svg+xml;base64,${base64(svg(rect))}')">x</div></foreignObject>`,
  ),
  'an embedded picture of huge size': svg(`<image width="9" height="9" href="data:image/png;base64,${base64(pngHead(30_000, 30_000))}"/>`),
  'a style sheet that is linked': `<?xml-stylesheet href="data:text/css,*{filter:blur(99px)}"?>${svg(rect)}`,
  'a style sheet that is imported': svg(`<style>@import "data:text/css,*{filter:blur(99px)}";</style>${rect}`),
  'HTML of many elements': svg(
    `<foreignObject width="90" height="90"><div xmlns="http://www.w3.org/1999/xhtml">${many('<p>x</p>', 20_000)}</div></foreignObject>`,
  ),
  'HTML of great depth': svg(
    `<foreignObject width="90" height="90"><div xmlns="http://www.w3.org/1999/xhtml">${many('<b>', 2000)}x${many('</b>', 2000)}</div></foreignObject>`,
  ),
  'a drawing of six megabytes': svg(`<!--${many('x', 6_000_000)}-->${rect}`),
};

/** Harmless drawings. Some are like those of drawing programs; others have unusual parts that have no effect in pictures. */
const drawable: Record<string, string> = {
  'copies as maps have them': svg(`<defs><g id="a 1">${many(rect, 20)}</g></defs>${many('<use xlink:href="#a 1"/>', 500)}`),
  'a style as Illustrator writes it': svg(
    `<defs><style>.cls-1{fill:url(#g);}.cls-2{clip-path:url(#c);}</style><clipPath id="c">${rect}</clipPath><linearGradient id="g"><stop stop-color="red"/></linearGradient></defs><g class="cls-2">${many('<rect class="cls-1" width="9" height="9"/>', 800)}</g>`,
  ),
  'a shadow as Figma writes it': svg(
    `<g filter="url(#f)">${many('<path d="M0 0L9 9" fill="#ccc"/>', 800)}</g><defs><filter id="f" filterUnits="userSpaceOnUse"><feFlood/><feGaussianBlur stdDeviation="2"/><feBlend in="SourceGraphic"/></filter></defs>`,
  ),
  'words as draw.io writes them': svg(
    `<switch><foreignObject width="90" height="90"><div xmlns="http://www.w3.org/1999/xhtml" style="display:flex"><div>Step</div></div></foreignObject><text>Step</text></switch>`,
  ),
  'links to other files': svg(
    `<image width="9" height="9" href="https://example.com/a.png"/><image width="9" height="9" href="/home/owned.png"/><use href="https://example.com/a.svg#a"/><a href="#top">${rect}</a><script href="/home/owned.js"/>`,
    'id="top" onload="owned()" width="99999999" height="99999999"',
  ),
  'an embedded picture': svg(`<image width="9" height="9" href="data:image/png;base64,${base64(pngHead(30, 30))}"/>`),
};

/** Asserts that the viewer and a document show harmless drawings, but none that are too expensive for a browser. */
export async function assertDrawingsBounded(t: TestContext): Promise<void> {
  const server = await startServer(t);
  const names = (drawings: Record<string, string>) => Object.keys(drawings).map((name) => `${name}.svg`);
  for (const [name, content] of Object.entries({ ...attacks, ...drawable })) writeFileSync(join(server.home, `${name}.svg`), content);
  const [good] = names(drawable);
  const pictures = names(attacks).map((name) => `![bad](<${name}>)\n\n`);
  writeFileSync(join(server.home, 'all.md'), `${pictures.join('')}![good](<${good}>)\n`);
  const page = await openBrowser(t);
  await login(page, server.url);
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (/example\.com|owned/.test(request.url())) foreign.push(request.url());
  });
  const dialog = page.getByRole('dialog');
  for (const name of [...names(attacks), ...names(drawable)]) {
    await page.getByRole('link', { name, exact: true }).click();
    const outcome = dialog.locator('.stage img, .trouble [role=alert]');
    await outcome.waitFor().catch(() => assert.fail(`${name}: neither shown nor refused`));
    const isShown = (await outcome.getAttribute('role')) === null;
    assert.equal(isShown, name.replace('.svg', '') in drawable, name);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
  await page.getByRole('link', { name: 'all.md' }).click();
  await dialog.getByRole('img', { name: 'good' }).and(page.locator('[src]')).waitFor();
  assert.equal(await dialog.locator('.markdown img').count(), 1, 'no document shows what the viewer refuses');
  await assertAccessible(page, 'a document without its pictures');
  assert.deepEqual(foreign, []);
}
