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
export function fileIconClasses(name: string): string {
  const mediaType = mediaTypeByName(name);
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

const types: Readonly<Record<string, string>> = {
  aac: 'audio/aac',
  abw: 'application/x-abiword',
  ai: 'application/postscript',
  apk: 'application/vnd.android.package-archive',
  apng: 'image/apng',
  asc: 'text/plain',
  avi: 'video/x-msvideo',
  avif: 'image/avif',
  azw: 'application/vnd.amazon.ebook',
  bin: 'application/octet-stream',
  bmp: 'image/bmp',
  bz: 'application/x-bzip',
  bz2: 'application/x-bzip2',
  c: 'text/x-c',
  cfg: 'text/plain',
  conf: 'text/plain',
  cpp: 'text/x-c++',
  crt: 'application/x-x509-ca-cert',
  csh: 'application/x-csh',
  css: 'text/css',
  csv: 'text/csv',
  deb: 'application/vnd.debian.binary-package',
  diff: 'text/x-diff',
  dmg: 'application/x-apple-diskimage',
  doc: 'application/msword',
  docm: 'application/vnd.ms-word.document.macroenabled.12',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  dot: 'application/msword',
  dxf: 'image/vnd.dxf',
  dwg: 'image/vnd.dwg',
  eml: 'message/rfc822',
  eot: 'application/vnd.ms-fontobject',
  eps: 'application/postscript',
  epub: 'application/epub+zip',
  exe: 'application/vnd.microsoft.portable-executable',
  flac: 'audio/flac',
  flv: 'video/x-flv',
  gif: 'image/gif',
  gml: 'application/gml+xml',
  go: 'text/x-go',
  gpx: 'application/gpx+xml',
  gz: 'application/gzip',
  h: 'text/x-c',
  heic: 'image/heic',
  heif: 'image/heif',
  htm: 'text/html',
  html: 'text/html',
  ico: 'image/vnd.microsoft.icon',
  ics: 'text/calendar',
  ini: 'text/plain',
  iso: 'application/x-iso9660-image',
  jar: 'application/java-archive',
  java: 'text/x-java',
  jfif: 'image/jpeg',
  jpe: 'image/jpeg',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  jsonld: 'application/ld+json',
  jxl: 'image/jxl',
  key: 'application/vnd.apple.keynote',
  kml: 'application/vnd.google-earth.kml+xml',
  kmz: 'application/vnd.google-earth.kmz',
  log: 'text/plain',
  m3u8: 'application/vnd.apple.mpegurl',
  m4a: 'audio/mp4',
  m4v: 'video/mp4',
  markdown: 'text/markdown',
  md: 'text/markdown',
  mid: 'audio/midi',
  midi: 'audio/midi',
  mjs: 'text/javascript',
  mkv: 'video/matroska',
  mov: 'video/quicktime',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  mpeg: 'video/mpeg',
  mpg: 'video/mpeg',
  mpkg: 'application/vnd.apple.installer+xml',
  msg: 'application/vnd.ms-outlook',
  msi: 'application/x-msi',
  ndjson: 'application/x-ndjson',
  numbers: 'application/vnd.apple.numbers',
  odg: 'application/vnd.oasis.opendocument.graphics',
  odp: 'application/vnd.oasis.opendocument.presentation',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odt: 'application/vnd.oasis.opendocument.text',
  oga: 'audio/ogg',
  ogg: 'audio/ogg',
  ogv: 'video/ogg',
  opus: 'audio/ogg',
  otf: 'font/otf',
  p12: 'application/x-pkcs12',
  p7m: 'application/pkcs7-mime',
  p7s: 'application/pkcs7-signature',
  pages: 'application/vnd.apple.pages',
  parquet: 'application/vnd.apache.parquet',
  patch: 'text/x-diff',
  pdf: 'application/pdf',
  pem: 'application/x-pem-file',
  php: 'application/x-httpd-php',
  pl: 'text/x-perl',
  png: 'image/png',
  pps: 'application/vnd.ms-powerpoint',
  ppt: 'application/vnd.ms-powerpoint',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  ps: 'application/postscript',
  psd: 'image/vnd.adobe.photoshop',
  py: 'text/x-python',
  rar: 'application/vnd.rar',
  rb: 'text/x-ruby',
  rpm: 'application/x-rpm',
  rs: 'text/x-rust',
  rtf: 'application/rtf',
  sh: 'application/x-sh',
  sql: 'application/sql',
  srt: 'application/x-subrip',
  svg: 'image/svg+xml',
  svgz: 'image/svg+xml',
  tar: 'application/x-tar',
  tex: 'text/x-tex',
  tgz: 'application/gzip',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  toml: 'application/toml',
  ts: 'video/mp2t',
  tsv: 'text/tab-separated-values',
  ttf: 'font/ttf',
  txt: 'text/plain',
  vcf: 'text/vcard',
  vsd: 'application/vnd.visio',
  vtt: 'text/vtt',
  wasm: 'application/wasm',
  wav: 'audio/wav',
  weba: 'audio/webm',
  webm: 'video/webm',
  webmanifest: 'application/manifest+json',
  webp: 'image/webp',
  wma: 'audio/x-ms-wma',
  wmv: 'video/x-ms-wmv',
  woff: 'font/woff',
  woff2: 'font/woff2',
  xhtml: 'application/xhtml+xml',
  xls: 'application/vnd.ms-excel',
  xlsm: 'application/vnd.ms-excel.sheet.macroenabled.12',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  xsl: 'application/xslt+xml',
  xz: 'application/x-xz',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  zip: 'application/zip',
  zst: 'application/zstd',
  '7z': 'application/x-7z-compressed',
  '3gp': 'video/3gpp',
  '3g2': 'video/3gpp2',
};

/** Extensions of texts that have no media type of their own, most of them programs. */
const textExtensions = [
  'bash bat cc cjs clj cmake cs cts cxx dart env ex exs fish fs gradle graphql groovy hcl hh hpp hs hxx jsx jl kt kts less lisp lock lua',
  'm mk ml mm mts nim nix pas pm properties proto ps1 r sass scala scm scss sol styl svelte swift tcl tf tsx v vb vhdl vim vue zig zsh',
].flatMap((line) => line.split(' '));

/** Names of texts without an extension, and hidden ones, in lower case. */
const textNames = new Set(
  [
    'authors changelog contributing copying dockerfile gemfile install jenkinsfile license makefile notice procfile rakefile readme todo',
    '.bashrc .dockerignore .editorconfig .gitattributes .gitignore .gitmodules .npmrc .nvmrc .profile .vimrc',
  ].flatMap((line) => line.split(' ')),
);

const plainText = 'text/plain; charset=utf-8';

const typesByExtension = new Map([
  ...textExtensions.map((extension): [string, string] => [extension, plainText]),
  ...Object.entries(types).map(([extension, type]): [string, string] => [
    extension,
    type.startsWith('text/') ? `${type}; charset=utf-8` : type,
  ]),
]);

/** The media type of a file by its name; `application/octet-stream` when it is not known. Text is taken for UTF-8. */
export function mediaTypeByName(fileName: string): string {
  const name = fileName.toLowerCase();
  const dot = name.lastIndexOf('.');
  const byExtension = dot < 0 ? undefined : typesByExtension.get(name.slice(dot + 1));
  return byExtension ?? (textNames.has(name) ? plainText : 'application/octet-stream');
}

/** What a browser may show inside a page of ours. */
export type InlineKind = 'image' | 'pdf' | 'audio' | 'video' | 'text';

/** Texts besides all of `text/` but HTML. */
const plainTextTypes = new Set([
  'application/json',
  'application/ld+json',
  'application/manifest+json',
  'application/sql',
  'application/toml',
  'application/x-csh',
  'application/x-httpd-php',
  'application/x-ndjson',
  'application/x-sh',
  'application/x-subrip',
  'application/yaml',
  // By its extension, `.ts`, far more often a program in TypeScript than a film; and no browser plays such films.
  'video/mp2t',
]);

/**
 * How a media type may be shown by `?inline`, or undefined. Never HTML, SVG or XML: these can carry scripts, which would
 * run in the service's origin.
 */
export function inlineKind(mediaType: string): InlineKind | undefined {
  const essence = mediaType.split(';', 1)[0] as string;
  if (essence === 'application/pdf') return 'pdf';
  const [main] = essence.split('/');
  if (plainTextTypes.has(essence) || (main === 'text' && essence !== 'text/html')) return 'text';
  if (essence === 'image/svg+xml') return undefined;
  return main === 'image' || main === 'audio' || main === 'video' ? main : undefined;
}
