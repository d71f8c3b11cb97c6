/** Media types by extension. Each main type has items `extension=subtype`, or one word if extension and subtype are the same. */
const types = {
  application: [
    'abw=x-abiword ai=postscript apk=vnd.android.package-archive azw=vnd.amazon.ebook bin=octet-stream bz=x-bzip bz2=x-bzip2',
    'crt=x-x509-ca-cert csh=x-csh deb=vnd.debian.binary-package dmg=x-apple-diskimage doc=msword',
    'docm=vnd.ms-word.document.macroenabled.12 docx=vnd.openxmlformats-officedocument.wordprocessingml.document dot=msword',
    'eot=vnd.ms-fontobject eps=postscript epub=epub+zip exe=vnd.microsoft.portable-executable gml=gml+xml gpx=gpx+xml gz=gzip',
    'iso=x-iso9660-image jar=java-archive json jsonl=x-ndjson jsonld=ld+json key=vnd.apple.keynote kml=vnd.google-earth.kml+xml',
    'kmz=vnd.google-earth.kmz m3u8=vnd.apple.mpegurl mpkg=vnd.apple.installer+xml msg=vnd.ms-outlook msi=x-msi ndjson=x-ndjson',
    'numbers=vnd.apple.numbers odg=vnd.oasis.opendocument.graphics odp=vnd.oasis.opendocument.presentation',
    'ods=vnd.oasis.opendocument.spreadsheet odt=vnd.oasis.opendocument.text p12=x-pkcs12 p7m=pkcs7-mime p7s=pkcs7-signature',
    'pages=vnd.apple.pages parquet=vnd.apache.parquet pdf pem=x-pem-file php=x-httpd-php pps=vnd.ms-powerpoint ppt=vnd.ms-powerpoint',
    'pptx=vnd.openxmlformats-officedocument.presentationml.presentation ps=postscript rar=vnd.rar rpm=x-rpm rtf sh=x-sh sql',
    'srt=x-subrip tar=x-tar tgz=gzip toml vsd=vnd.visio wasm webmanifest=manifest+json xhtml=xhtml+xml xls=vnd.ms-excel',
    'xlsm=vnd.ms-excel.sheet.macroenabled.12 xlsx=vnd.openxmlformats-officedocument.spreadsheetml.sheet xml xsl=xslt+xml xz=x-xz yaml',
    'yml=yaml zip zst=zstd 7z=x-7z-compressed',
  ],
  audio: ['aac flac m4a=mp4 mid=midi midi mp3=mpeg oga=ogg ogg opus=ogg wav weba=webm wma=x-ms-wma'],
  font: ['otf ttf woff woff2'],
  image: [
    'apng avif bmp dxf=vnd.dxf dwg=vnd.dwg gif heic heif ico=vnd.microsoft.icon jfif=jpeg jpe=jpeg jpeg jpg=jpeg jxl png',
    'psd=vnd.adobe.photoshop svg=svg+xml svgz=svg+xml tif=tiff tiff webp',
  ],
  message: ['eml=rfc822'],
  text: [
    'asc=plain c=x-c cfg=plain conf=plain cpp=x-c++ css csv diff=x-diff go=x-go h=x-c htm=html html ics=calendar ini=plain',
    'java=x-java js=javascript log=plain markdown md=markdown mjs=javascript patch=x-diff pl=x-perl py=x-python rb=x-ruby rs=x-rust',
    'tex=x-tex tsv=tab-separated-values txt=plain vcf=vcard vtt',
  ],
  video: [
    'avi=x-msvideo flv=x-flv m4v=mp4 mkv=matroska mov=quicktime mp4 mpeg mpg=mpeg ogv=ogg ts=mp2t webm wmv=x-ms-wmv 3gp=3gpp',
    '3g2=3gpp2',
  ],
};

/** Extensions of text files that have no media type. Most of these files contain source code. */
const textExtensions = [
  'bash bat cc cjs clj cmake cs cts cxx dart env ex exs fish fs gradle graphql groovy hcl hh hpp hs hxx jsx jl kt kts less lisp lock lua',
  'm mk ml mm mts nim nix pas pm properties proto ps1 r sass scala scm scss sol styl svelte swift tcl tf tsx v vb vhdl vim vue zig zsh',
];

/** Names of text files without an extension, or with a dot at the start. They are in lower case. */
const textNames = new Set(
  words([
    'authors changelog contributing copying dockerfile gemfile install jenkinsfile license makefile notice procfile rakefile readme todo',
    '.bashrc .dockerignore .editorconfig .gitattributes .gitignore .gitmodules .npmrc .nvmrc .profile .vimrc',
  ]),
);

const plainText = 'text/plain; charset=utf-8';

const typesByExtension = new Map(words(textExtensions).map((extension) => [extension, plainText]));
for (const [main, lines] of Object.entries(types)) {
  for (const item of words(lines)) {
    const [extension = '', subtype = extension] = item.split('=');
    typesByExtension.set(extension, `${main}/${subtype}${main === 'text' ? '; charset=utf-8' : ''}`);
  }
}

function words(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(' '));
}

/** Returns the media type of a file from its name; `application/octet-stream` if it is unknown. Text is treated as UTF-8. */
export function mediaTypeByName(fileName: string): string {
  const name = fileName.toLowerCase();
  const dot = name.lastIndexOf('.');
  const byExtension = dot < 0 ? undefined : typesByExtension.get(name.slice(dot + 1));
  return byExtension ?? (textNames.has(name) ? plainText : 'application/octet-stream');
}

/** The kinds of files that a browser may show inside a page of the service. */
export type InlineKind = 'image' | 'pdf' | 'audio' | 'video' | 'text';

/**
 * Types that are shown as text: some types outside `text/*`, and all of `text/*` except HTML. `video/mp2t` is shown as text, because most
 * `.ts` files are TypeScript, and browsers cannot play such videos.
 */
const plainTextTypes =
  /^(application\/(json|ld\+json|manifest\+json|sql|toml|x-csh|x-httpd-php|x-ndjson|x-sh|x-subrip|yaml)|video\/mp2t|text\/(?!html$).*)$/;

/**
 * Returns how `?inline` may show a media type; undefined if it must not. HTML, SVG and XML are never shown, because their scripts would run
 * in the service's origin.
 */
export function inlineKind(mediaType: string): InlineKind | undefined {
  const essence = mediaType.split(';', 1)[0] as string;
  if (essence === 'application/pdf') return 'pdf';
  if (plainTextTypes.test(essence)) return 'text';
  if (essence === 'image/svg+xml') return undefined;
  const [main] = essence.split('/');
  return main === 'image' || main === 'audio' || main === 'video' ? main : undefined;
}

/** Icons of files that have no preview, or whose preview says less about the file than the icon. The first match applies. */
const icons: readonly (readonly [icon: string, mediaTypes: RegExp])[] = [
  ['sheet', /excel|spreadsheet|numbers|text\/(csv|tab-separated)|parquet/],
  ['slides', /powerpoint|presentation|keynote/],
  ['document', /msword|wordprocessing|opendocument\.text|abiword|rtf|apple\.pages|epub|ebook/],
  ['archive', /zip|gzip|tar\b|vnd\.rar|7z|zstd|xz|bzip|java-archive|-package|installer|x-rpm|diskimage|iso9660/],
  ['picture', /^image\/|opendocument\.graphics|visio/],
  ['code', /javascript|^text\/(x-|css|html)|json|yaml|toml|xml|\/sql|x-c?sh$|php|wasm|mp2t/],
];

/** Matches the names of text files that contain prose, not programs or settings. */
const prose = /^[^.]+$|\.(txt|log|asc|text)$/i;

const plainKinds: readonly (string | undefined)[] = ['image', 'pdf', 'audio', 'video'];

/** Kinds of files that a script of the web page previews: as text, or as a list of the archive's members. */
const shownByPages: readonly (readonly [kind: string, mediaTypes: RegExp])[] = [
  ['text', /^text\/html$|^(?!image\/).*[/+]xml$/],
  ['zip', /^application\/(zip|java-archive|epub\+zip|vnd\.android\.package-archive|vnd\.google-earth\.kmz)$/],
];

const classesByType = new Map<string, string>();

/**
 * Returns the CSS classes of a file's icon: the kind of the file's preview, if it has one, and the name of the icon, if the preview needs
 * an icon.
 */
export function fileIconClasses(name: string): string {
  const mediaType = mediaTypeByName(name);
  if (mediaType.startsWith('text/plain')) return prose.test(name) ? 'text' : 'text code';
  const before = classesByType.get(mediaType);
  if (before !== undefined) return before;
  const essence = mediaType.split(';', 1)[0] as string;
  const kind = inlineKind(mediaType) ?? shownByPages.find(([, types]) => types.test(essence))?.[0];
  const icon = plainKinds.includes(kind) ? undefined : icons.find(([, types]) => types.test(essence))?.[0];
  const classes = [kind, icon].filter((part) => part !== undefined).join(' ') || 'file';
  classesByType.set(mediaType, classes);
  return classes;
}
