// What the build and the tests share: how a bundle is made of the sources.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { build as bundle, transform } from 'esbuild';
import { gzipSync } from 'fflate';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Makes `require` available to the CommonJS packages inside an ESM bundle (commander 14, cosmiconfig 9). */
export const requireBanner =
  "import { createRequire as svcCreateRequire } from 'node:module';\nconst require = svcCreateRequire(import.meta.url);";

/** Bytes as gzip in base64; the same bytes give the same text. */
export function packed(bytes) {
  return Buffer.from(gzipSync(bytes, { level: 9, mtime: 1 })).toString('base64');
}

/** `svc:swagger-ui`: Swagger UI's two files, packed; one path for all platforms keeps the build reproducible. */
const swaggerUi = {
  name: 'swagger-ui',
  setup(build) {
    build.onResolve({ filter: /^svc:swagger-ui$/ }, ({ path }) => ({ path, namespace: 'packed' }));
    build.onLoad({ filter: /.*/, namespace: 'packed' }, () => {
      // A text inside a function costs a start nothing.
      const file = (name) => {
        const bytes = readFileSync(new URL(`../node_modules/swagger-ui-dist/${name}`, import.meta.url));
        return `{ digest: '${createHash('sha256').update(bytes).digest('hex')}', packed() { return '${packed(bytes)}'; } }`;
      };
      return {
        contents: `export const css = ${file('swagger-ui.css')};\nexport const js = ${file('swagger-ui-bundle.js')};`,
        loader: 'js',
      };
    });
  },
};

/** `svc:page-script`: the script of the listing page, made of src/http/client/ for browsers. */
const pageScript = {
  name: 'page-script',
  setup(build) {
    build.onResolve({ filter: /^svc:page-script$/ }, ({ path }) => ({ path, namespace: 'page-script' }));
    build.onLoad({ filter: /.*/, namespace: 'page-script' }, async () => {
      const { outputFiles } = await bundle({
        entryPoints: [new URL('../src/http/client/main.ts', import.meta.url).pathname],
        bundle: true,
        write: false,
        minify: true,
        format: 'iife',
        target: ['chrome123', 'firefox128', 'safari17.5'],
        charset: 'utf8',
        logLevel: 'warning',
      });
      return { contents: outputFiles[0].text, loader: 'text' };
    });
  },
};

/** zod's messages in fifty languages, which svc never shows (the default one is not among these): parsed at each start. */
const oneLanguage = {
  name: 'one-language',
  setup(build) {
    build.onResolve({ filter: /\/locales\/index\.js$/ }, ({ importer, path }) =>
      /\/zod\/v4\//.test(importer) ? { path, namespace: 'nothing' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export {};', loader: 'js' }));
  },
};

/**
 * Of ofetch only what makes a client of a `fetch` that it is given: the rest asks Node.js for its own `fetch` and `Headers`, which
 * takes as long as everything of svc together and is never used.
 */
const givenFetch = {
  name: 'given-fetch',
  setup(build) {
    build.onLoad({ filter: /[\\/]ofetch[\\/]dist[\\/]index\.mjs$/ }, ({ path }) => {
      const lines = readFileSync(path, 'utf8').split('\n');
      return {
        contents: [...lines.filter((line) => /^(import|export) .*from /.test(line)), 'export { createFetch };'].join('\n'),
        loader: 'js',
      };
    });
  },
};

/** Style sheets as texts, without comments and spaces. */
const style = {
  name: 'style',
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, 'utf8'), { loader: 'css', minifyWhitespace: true });
      return { contents: code.trim(), loader: 'text' };
    });
  },
};

/** @type {import('esbuild').BuildOptions} */
export const bundleOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // cosmiconfig can load TypeScript files; svc never lets it. The Redis client has a native hash for client-side caching, unused here.
  external: ['typescript', '@node-rs/xxhash'],
  // ofetch's build for Node.js carries a polyfill of fetch that Node.js 20 does not need.
  alias: { ofetch: './node_modules/ofetch/dist/index.mjs' },
  loader: { '.html': 'text', '.svg': 'text', '.yaml': 'text', '.client.js': 'text' },
  define: { SVC_VERSION: JSON.stringify(version) },
  plugins: [swaggerUi, pageScript, oneLanguage, givenFetch, style],
  logLevel: 'warning',
};
