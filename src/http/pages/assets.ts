import { createHash } from 'node:crypto';
import pageScript from 'svc:page-script';
import swaggerUi from 'svc:swagger-ui';
import { gunzipSync } from 'fflate';
import icon from '../assets/icon.svg';
import apiScript from '../assets/openapi.client.js';
import style from '../assets/page.css';

/** A file that pages refer to, under a name that changes with its content. */
export interface Asset {
  contentType: string;
  body: () => Buffer;
}

const contentTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' } as const;
const all = new Map<string, Asset>();

function add(name: string, extension: keyof typeof contentTypes, text: string, body: () => Buffer): string {
  const path = `assets/${name}.${createHash('sha256').update(text).digest('hex').slice(0, 12)}.${extension}`;
  all.set(path, { contentType: contentTypes[extension], body });
  return `/__svc__/${path}`;
}

/** URL paths of the files that pages refer to. */
export const assetPaths = {
  style: add('page', 'css', style, () => Buffer.from(style)),
  icon: add('icon', 'svg', icon, () => Buffer.from(icon)),
  pageScript: add('page', 'js', pageScript, () => Buffer.from(pageScript)),
  apiScript: add('openapi', 'js', apiScript, () => Buffer.from(apiScript)),
  // Packed into the executable; unpacked when somebody opens the API page.
  swaggerStyle: add('swagger-ui', 'css', swaggerUi.css, () => unpacked(swaggerUi.css)),
  swaggerScript: add('swagger-ui', 'js', swaggerUi.js, () => unpacked(swaggerUi.js)),
};

/** All assets by their name below `/__svc__/`. */
export const assets: ReadonlyMap<string, Asset> = all;

function unpacked(base64: string): Buffer {
  return Buffer.from(gunzipSync(Buffer.from(base64, 'base64')));
}
