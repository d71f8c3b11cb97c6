/** The version in package.json, put in by the bundler. */
declare const SVC_VERSION: string;

declare module '*.css' {
  const text: string;
  export default text;
}
declare module '*.html' {
  const text: string;
  export default text;
}
declare module '*.svg' {
  const text: string;
  export default text;
}
declare module '*.yaml' {
  const text: string;
  export default text;
}
declare module '*.client.js' {
  const text: string;
  export default text;
}

/** The script of the listing (src/http/html/client/), bundled for browsers. */
declare module 'svc:page-script' {
  const text: string;
  export default text;
}

/** Swagger UI's style and script, made by the bundler: the SHA-256 of the content, and the content as gzip, in base64. */
declare module 'svc:swagger-ui' {
  interface PackedFile {
    readonly digest: string;
    packed(): string;
  }
  export const css: PackedFile;
  export const js: PackedFile;
}
