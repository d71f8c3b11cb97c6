import { inlineKind, mediaTypeOf } from './media-types.ts';

/** Icons of files that have no preview, or one that says less than the icon; the first that fits counts. */
const looks: readonly (readonly [look: string, mediaTypes: RegExp])[] = [
  ['sheet', /excel|spreadsheet|numbers|text\/(csv|tab-separated)|parquet/],
  ['slides', /powerpoint|presentation|keynote/],
  ['document', /msword|wordprocessing|opendocument\.text|abiword|rtf|apple\.pages|epub|ebook/],
  ['archive', /zip|gzip|tar\b|vnd\.rar|7z|zstd|xz|bzip|java-archive|-package|installer|x-rpm|diskimage|iso9660/],
  ['picture', /^image\/|opendocument\.graphics|visio/],
  ['code', /javascript|^text\/(x-|css|html)|json|yaml|toml|xml|\/sql|x-c?sh$|php|wasm|mp2t/],
];

/** Names of texts that are no programs, settings or the like. */
const prose = /^[^.]+$|\.(txt|log|asc|text)$/i;

/** Kinds that say as much as an icon can. */
const plainKinds: readonly (string | undefined)[] = ['image', 'pdf', 'audio', 'video'];

/** What pages show besides what a browser may show by itself: as text, or what is inside. */
const shownByPages: readonly (readonly [kind: string, mediaTypes: RegExp])[] = [
  ['text', /^text\/html$|^(?!image\/).*[/+]xml$/],
  ['zip', /^application\/(zip|java-archive|epub\+zip|vnd\.android\.package-archive|vnd\.google-earth\.kmz)$/],
];

const known = new Map<string, string>();

/** The classes of a file's icon: for those that have a preview its kind, and what chooses the icon where that is not the same. */
export function fileLook(name: string): string {
  const mediaType = mediaTypeOf(name);
  if (mediaType.startsWith('text/plain')) return prose.test(name) ? 'text' : 'text code';
  const before = known.get(mediaType);
  if (before !== undefined) return before;
  const essence = mediaType.split(';', 1)[0] as string;
  const kind = inlineKind(mediaType) ?? shownByPages.find(([, types]) => types.test(essence))?.[0];
  const look = plainKinds.includes(kind) ? undefined : looks.find(([, types]) => types.test(essence))?.[0];
  const classes = [kind, look].filter((part) => part !== undefined).join(' ') || 'file';
  known.set(mediaType, classes);
  return classes;
}
