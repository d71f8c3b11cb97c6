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

/** The script of the listing (src/http/client/), bundled for browsers. */
declare module 'svc:page-script' {
  const text: string;
  export default text;
}

/** Swagger UI's style and script, gzip-compressed, in base64; made by the bundler. */
declare module 'svc:swagger-ui' {
  const files: { css: string; js: string };
  export default files;
}
