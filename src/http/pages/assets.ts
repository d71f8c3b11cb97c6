import { createHash } from 'node:crypto';
import style from '../assets/page.css';

/** A file that pages refer to, under a name that changes with its content. */
export interface Asset {
  contentType: string;
  body: Buffer;
}

function named(name: string, extension: string, text: string): string {
  return `assets/${name}.${createHash('sha256').update(text).digest('hex').slice(0, 12)}.${extension}`;
}

const styleName = named('page', 'css', style);

/** URL path of the style sheet. */
export const stylePath = `/__svc__/${styleName}`;

/** All assets by their name below `/__svc__/`. */
export const assets: ReadonlyMap<string, Asset> = new Map([
  [styleName, { contentType: 'text/css; charset=utf-8', body: Buffer.from(style) }],
]);
