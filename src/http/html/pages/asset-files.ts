import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { PackedFile } from 'svc:swagger-ui';
import packedWebFiles from 'svc:web-files';

const webFiles: Readonly<Record<string, string>> = JSON.parse(unpack(packedWebFiles).toString());

/** A file that pages refer to. Its name changes with its content. */
export interface Asset {
  contentType: string;
  body: () => Buffer;
  /** Returns the body compressed with gzip. */
  packed: () => Buffer;
}

const contentTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' } as const;

/** The files that the pages of a service refer to. */
export class AssetFiles {
  readonly #root: string;
  /** The files by their names below the root. */
  readonly all = new Map<string, Asset>();

  /** @param root URL path of the folder that contains the files, with `/` at its end */
  constructor(root: string) {
    this.#root = root;
  }

  /** Adds a file. @param content a text, or a file that the build compressed @returns URL path of the file */
  add(name: string, extension: keyof typeof contentTypes, content: string | PackedFile): string {
    const isText = typeof content === 'string';
    const path = `assets/${name}.${(isText ? digest(content) : content.digest).slice(0, 12)}.${extension}`;
    const files = isText ? packedOnce(() => Buffer.from(content)) : { body: () => unpack(content), packed: () => packedBytes(content) };
    this.all.set(path, { contentType: contentTypes[extension], ...files });
    return this.#root + path;
  }

  /**
   * Adds scripts that import each other by name. The name of their folder changes when one of the scripts changes.
   *
   * @returns URL path of the script `first`
   */
  addScripts(first: string, scripts: Readonly<Record<string, PackedFile>>): string {
    const digests = Object.values(scripts).map((file) => file.digest);
    const folder = `assets/scripts.${digest(digests.join()).slice(0, 12)}`;
    for (const [name, file] of Object.entries(scripts))
      this.all.set(`${folder}/${name}`, { contentType: contentTypes.js, ...packedOnce(() => unpack(file)) });
    return `${this.#root}${folder}/${first}.js`;
  }
}

/** Returns a file of src/web that the build embedded. @param name path of the file below src/web, such as `shared/page.css` */
export function webFile(name: string): string {
  const text = webFiles[name];
  if (text === undefined) throw new Error(`The build did not embed ${name}.`);
  return text;
}

/** The style sheets of the frame that all pages share. */
export const frameStyles = { base: 'shared/page.css', controls: 'shared/controls.css', frame: 'shared/frame.css', menu: 'shared/menu.css' };

/**
 * Builds the style sheet of a kind of page from the shared styles and the given styles. The order matters, because rules for narrow screens
 * must override earlier rules.
 *
 * @param content styles of the page content, which must come before the styles of dialogs
 * @param screens styles that must come after those of dialogs
 */
export function styleSheet(content: readonly string[], screens: readonly string[]): string {
  const frame = [...Object.values(frameStyles), 'shared/card.css'];
  return [...frame, ...content, 'shared/dialogs.css', ...screens, 'shared/motion.css'].map(webFile).join('\n');
}

/** Returns the URL path of the translated texts of a script. The script itself contains the English texts. @param tag `de`, `fr` or `es` */
export function scriptTextsPath(script: string, tag: string): string {
  return script.replace('/page.js', `/${tag}.js`);
}

/** Headers of a file that pages refer to. Its name changes with the content, so browsers may keep it for ever. */
export function assetHeaders({ contentType }: Pick<Asset, 'contentType'>) {
  return {
    'content-type': contentType,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  };
}

/** Compresses content at the highest level, when it is first requested. */
function packedOnce(body: () => Buffer): Pick<Asset, 'body' | 'packed'> {
  let packed: Buffer | undefined;
  return { body, packed: () => (packed ??= gzipSync(body(), { level: 9 })) };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function packedBytes(file: PackedFile): Buffer {
  return Buffer.from(file.packed(), 'base64');
}

function unpack(file: PackedFile): Buffer {
  return gunzipSync(packedBytes(file));
}
