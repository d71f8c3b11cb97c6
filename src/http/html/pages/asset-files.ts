import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { PackedFile } from 'svc:swagger-ui';
import webFiles from 'svc:web-files';

/** A file that pages refer to, under a name that changes with its content. */
export interface Asset {
  contentType: string;
  body: () => Buffer;
  /** The same as gzip. */
  packed: () => Buffer;
}

const contentTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' } as const;

interface Content extends Pick<Asset, 'body' | 'packed'> {
  /** Hexadecimal. */
  digest: string;
}

/** The files that the pages of a service refer to. */
export class AssetFiles {
  readonly #root: string;
  readonly #all = new Map<string, Asset>();

  /** @param root URL path of the folder in which they stand, with `/` at its end */
  constructor(root: string) {
    this.#root = root;
  }

  /** All files by their names below the folder. */
  get all(): ReadonlyMap<string, Asset> {
    return this.#all;
  }

  /** @param content a text, or what the build packed @returns URL path of the file */
  add(name: string, extension: keyof typeof contentTypes, content: string | PackedFile): string {
    const { digest, body, packed } = typeof content === 'string' ? plain(content) : packedInBuild(content);
    const path = `assets/${name}.${digest.slice(0, 12)}.${extension}`;
    this.#all.set(path, { contentType: contentTypes[extension], body, packed });
    return this.#root + path;
  }

  /** Adds scripts that refer to each other by their names alone: in a folder whose name changes with any of them. @returns URL path of the first */
  addScripts(first: string, scripts: Readonly<Record<string, PackedFile>>): string {
    const digests = Object.values(scripts).map(({ digest }) => digest);
    const folder = `assets/scripts.${digestOf(digests.join()).slice(0, 12)}`;
    for (const [name, file] of Object.entries(scripts))
      this.#all.set(`${folder}/${name}`, { contentType: contentTypes.js, ...packedOnce(packedInBuild(file)) });
    return `${this.#root}${folder}/${first}.js`;
  }
}

/** Files of src/web as the build put them in, one after the other. @param names their paths there, such as `shared/page.css` */
export function webFile(...names: readonly string[]): string {
  return names
    .map((name) => {
      const text = webFiles[name];
      if (text === undefined) throw new Error(`The build put no ${name} in.`);
      return text;
    })
    .join('\n');
}

/** Headers of a file that pages refer to. Its name changes with the content, so browsers may keep it for ever. */
export function assetHeaders({ contentType }: Asset) {
  return {
    'content-type': contentType,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  };
}

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
