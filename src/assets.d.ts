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
declare module '*.yaml' {
  const text: string;
  export default text;
}

/** The scripts of the pages (src/web/files/) by their file names: `page.js`, and the parts that it loads when they are needed. */
declare module 'svc:page-scripts' {
  const scripts: Readonly<Record<string, import('svc:swagger-ui').PackedFile>>;
  export default scripts;
}

/** The scripts of the console's pages (src/web/console/), likewise. */
declare module 'svc:console-scripts' {
  const scripts: Readonly<Record<string, import('svc:swagger-ui').PackedFile>>;
  export default scripts;
}

/** Style sheets and other files of src/web by their paths there, as texts. */
declare module 'svc:web-files' {
  const files: Readonly<Record<string, string>>;
  export default files;
}

/** The program of the thread that verifies password hashes of other systems (src/accounts/password-worker.ts), as CommonJS. */
declare module 'svc:password-worker' {
  const program: import('svc:swagger-ui').PackedFile;
  export default program;
}

/** Swagger UI's style and script. */
declare module 'svc:swagger-ui' {
  /** Made by the bundler: the SHA-256 of the content, and the content as gzip, in base64. */
  export interface PackedFile {
    readonly digest: string;
    packed(): string;
  }
  export const css: PackedFile;
  export const js: PackedFile;
}
