import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import pageScripts from 'svc:page-scripts';
import type { PackedFile } from 'svc:swagger-ui';
import * as swaggerUi from 'svc:swagger-ui';
import apiStyle from '../assets/api.css';
import card from '../assets/card.css';
import controls from '../assets/controls.css';
import frame from '../assets/frame.css';
import grid from '../assets/grid.css';
import icon from '../assets/icon.svg';
import kinds from '../assets/kinds.css';
import listing from '../assets/listing.css';
import menu from '../assets/menu.css';
import motion from '../assets/motion.css';
import apiScript from '../assets/openapi.client.js';
import page from '../assets/page.css';
import rows from '../assets/rows.css';
import screens from '../assets/screens.css';
import script from '../assets/script.css';

/** A file that pages refer to, under a name that changes with its content. */
export interface Asset {
  contentType: string;
  body: () => Buffer;
  /** The same as gzip. */
  packed: () => Buffer;
}

const contentTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' } as const;
const all = new Map<string, Asset>();

interface Content extends Pick<Asset, 'body' | 'packed'> {
  /** Hexadecimal. */
  digest: string;
}

function add(name: string, extension: keyof typeof contentTypes, { digest, body, packed }: Content): string {
  const path = `assets/${name}.${digest.slice(0, 12)}.${extension}`;
  all.set(path, { contentType: contentTypes[extension], body, packed });
  return `/__svc__/${path}`;
}

/** Adds scripts that refer to each other by their names alone: in a folder whose name changes with any of them. @returns URL of the first */
function addScripts(first: string, scripts: Readonly<Record<string, PackedFile>>): string {
  const digests = Object.values(scripts).map(({ digest }) => digest);
  const folder = `assets/scripts.${digestOf(digests.join()).slice(0, 12)}`;
  for (const [name, file] of Object.entries(scripts))
    all.set(`${folder}/${name}`, { contentType: contentTypes.js, ...packedOnce(packedInBuild(file)) });
  return `/__svc__/${folder}/${first}.js`;
}

/** The order counts: rules for narrow screens come last. */
const style = [page, controls, frame, menu, card, kinds, listing, rows, script, screens, grid, motion].join('\n');

/** The frame without what would change the looks of Swagger UI. */
const frameStyle = [page, `:where(.top){${controls}}`, frame, menu].join('\n');

/** URL paths of the files that pages refer to. */
export const assetPaths = {
  style: add('page', 'css', plain(style)),
  icon: add('icon', 'svg', plain(icon)),
  pageScript: addScripts('page', pageScripts),
  frameStyle: add('frame', 'css', plain(frameStyle)),
  apiStyle: add('openapi', 'css', plain(apiStyle)),
  apiScript: add('openapi', 'js', plain(apiScript)),
  // Packed into the executable; unpacked when somebody opens the API page.
  swaggerStyle: add('swagger-ui', 'css', packedInBuild(swaggerUi.css)),
  swaggerScript: add('swagger-ui', 'js', packedInBuild(swaggerUi.js)),
};

/** URL path of the texts of the page's script in a language other than English, whose texts are in the script itself. */
export function scriptTextsPath(tag: string): string {
  return assetPaths.pageScript.replace('/page.js', `/${tag}.js`);
}

/** All assets by their name below `/__svc__/`. */
export const assets: ReadonlyMap<string, Asset> = all;

function plain(text: string): Content {
  return packedOnce({ digest: digestOf(text), body: () => Buffer.from(text) });
}

/** Packs a content when somebody asks for it, better than the build does. */
function packedOnce(content: Pick<Content, 'digest' | 'body'>): Content {
  let packed: Buffer | undefined;
  const pack = () => {
    packed ??= gzipSync(content.body(), { level: 9 });
    return packed;
  };
  return { ...content, packed: pack };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function packedInBuild(file: PackedFile): Content {
  const packed = () => Buffer.from(file.packed(), 'base64');
  return { digest: file.digest, body: () => gunzipSync(packed()), packed };
}
