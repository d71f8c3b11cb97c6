// Options with which esbuild bundles the sources, for the build and the tests.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { build as bundle, transform } from 'esbuild';
import { gzipSync } from 'fflate';
import { pageScripts } from './page-scripts.mjs';
import { patchedPackages } from './patched-packages.mjs';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Defines `require`, which CommonJS packages in an ESM bundle need (commander 14, cosmiconfig 9). */
export const requireBanner =
  "import { createRequire as svcCreateRequire } from 'node:module';\nconst require = svcCreateRequire(import.meta.url);";

/** Compresses bytes with gzip and encodes them in base64. Equal input gives equal output. */
function packed(bytes) {
  return Buffer.from(gzipSync(bytes, { level: 9, mtime: 1 })).toString('base64');
}

/**
 * Returns a JavaScript expression for a compressed file. The value has the file's SHA-256, and a function that returns the content. The
 * content is in a function, because a string in a function costs nothing at startup.
 */
function packedFile(bytes) {
  return `{ digest: '${createHash('sha256').update(bytes).digest('hex')}', packed() { return '${packed(bytes)}'; } }`;
}

/** `svc:swagger-ui`: two files of Swagger UI, compressed. Their path is the same on all platforms, so that builds are reproducible. */
const swaggerUi = {
  name: 'swagger-ui',
  setup(build) {
    build.onResolve({ filter: /^svc:swagger-ui$/ }, ({ path }) => ({ path, namespace: 'packed' }));
    build.onLoad({ filter: /.*/, namespace: 'packed' }, () => {
      const file = (name) => packedFile(readFileSync(new URL(`../node_modules/swagger-ui-dist/${name}`, import.meta.url)));
      return {
        contents: `export const css = ${file('swagger-ui.css')};\nexport const js = ${file('swagger-ui-bundle.js')};`,
        loader: 'js',
      };
    });
  },
};

/** `svc:openapi`: the description of the REST API, compressed. */
const openapi = {
  name: 'openapi',
  setup(build) {
    build.onResolve({ filter: /^svc:openapi$/ }, ({ path }) => ({ path, namespace: 'openapi' }));
    build.onLoad({ filter: /.*/, namespace: 'openapi' }, () => {
      const file = packedFile(readFileSync(new URL('../src/http/rest/openapi.yaml', import.meta.url)));
      return { contents: `export default ${file};`, loader: 'js' };
    });
  },
};

/** Returns a style sheet as text, without comments and white space. */
async function minifiedStyle(path) {
  const { code } = await transform(readFileSync(path, 'utf8'), { loader: 'css', minifyWhitespace: true });
  return code.trim();
}

/** Lets browser scripts import style sheets as texts. */
export const style = {
  name: 'style',
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => ({ contents: await minifiedStyle(path), loader: 'text' }));
  },
};

const webFolder = new URL('../src/web/', import.meta.url).pathname;

/**
 * `svc:web-files`: the style sheets and other files of src/web that pages refer to. They are a compressed JSON object of texts, keyed by
 * their path in src/web (`shared/page.css`).
 */
const webFiles = {
  name: 'web-files',
  setup(build) {
    build.onResolve({ filter: /^svc:web-files$/ }, ({ path }) => ({ path, namespace: 'web-files' }));
    build.onLoad({ filter: /.*/, namespace: 'web-files' }, async () => {
      const texts = {};
      for (const room of ['shared', 'files', 'console', 'api'])
        for (const name of readdirSync(`${webFolder}${room}/styles`).sort())
          texts[`${room}/${name}`] = await minifiedStyle(`${webFolder}${room}/styles/${name}`);
      for (const name of ['files/icon.svg', 'console/icon.svg', 'api/openapi.js']) texts[name] = readFileSync(webFolder + name, 'utf8');
      return { contents: `export default ${packedFile(Buffer.from(JSON.stringify(texts)))};`, loader: 'js' };
    });
  },
};

/** Entry modules of the browser scripts. Their keys are the names under which the sources import the built scripts. */
export const scriptStarts = {
  'svc:page-scripts': new URL('../src/web/files/main.ts', import.meta.url),
  'svc:console-scripts': new URL('../src/web/console/main.ts', import.meta.url),
};

/**
 * `svc:password-worker`: the compressed program of the thread that verifies password hashes of other systems. The sources of this program
 * are added to the bundle's list of inputs.
 */
const passwordWorker = {
  name: 'password-worker',
  setup(build) {
    const inputs = {};
    build.onResolve({ filter: /^svc:password-worker$/ }, ({ path }) => ({ path, namespace: 'password-worker' }));
    build.onLoad({ filter: /.*/, namespace: 'password-worker' }, async () => {
      const { outputFiles, metafile } = await bundle({
        entryPoints: ['src/accounts/password-worker.ts'],
        absWorkingDir: new URL('..', import.meta.url).pathname.replace(/\/$/, ''),
        bundle: true,
        write: false,
        metafile: true,
        minify: true,
        platform: 'node',
        format: 'cjs',
        target: 'node20.19',
        mainFields: ['module', 'main'],
        plugins: [patchedPackages(false)],
      });
      for (const output of Object.values(metafile.outputs)) Object.assign(inputs, output.inputs);
      return { contents: `export default ${packedFile(Buffer.from(outputFiles[0].text))};`, loader: 'js' };
    });
    build.onEnd(({ metafile }) => {
      const [output] = Object.values(metafile?.outputs ?? {}).filter(({ entryPoint }) => entryPoint !== undefined);
      if (output) for (const [path, input] of Object.entries(inputs)) output.inputs[path] ??= input;
    });
  },
};

/** The browser scripts, keyed by file name. Their sources are added to the bundle's list of inputs. */
const scripts = {
  name: 'page-scripts',
  setup(build) {
    const inputs = {};
    build.onResolve({ filter: /^svc:(page|console)-scripts$/ }, ({ path }) => ({ path, namespace: 'page-scripts' }));
    build.onLoad({ filter: /.*/, namespace: 'page-scripts' }, async ({ path }) => {
      const made = await pageScripts(scriptStarts[path].pathname, [style]);
      Object.assign(inputs, made.inputs);
      const files = Object.entries(made.files).map(([name, text]) => `'${name}': ${packedFile(Buffer.from(text))}`);
      return { contents: `export default { ${files.join(', ')} };`, loader: 'js' };
    });
    build.onEnd(({ metafile }) => {
      const [output] = Object.values(metafile?.outputs ?? {}).filter(({ entryPoint }) => entryPoint !== undefined);
      if (output) Object.assign(output.inputs, inputs);
    });
  },
};

/**
 * Loads a module of Node.js only when the first module that imports it runs. With `import` statements, Node.js would load all such modules
 * at every start. It would also compute values that are otherwise computed on demand, such as the root certificates of `node:tls`.
 */
const builtinModules = {
  name: 'builtin-modules',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, kind }) => (kind === 'import-statement' ? { path, namespace: 'builtin' } : undefined));
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path)).filter((name) => /^[a-z]\w*$/i.test(name) && name !== 'default');
      const named = names.map((name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})();`);
      const contents = [`const builtin = process.getBuiltinModule('${path}');`, 'export default builtin;', ...named].join('\n');
      return { contents, loader: 'js' };
    });
  },
};

/** @type {import('esbuild').BuildOptions} */
export const bundleOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // svc parses all configuration files itself, so cosmiconfig never loads its own parsers. The Redis client needs the native hash only for
  // client-side caching, and it needs OpenTelemetry only for metrics; svc uses neither. ssh2 works without its native modules.
  external: ['typescript', 'import-fresh', 'js-yaml', 'parse-json', '@node-rs/xxhash', '@opentelemetry/api', 'cpu-features', '*.node'],
  // ofetch's build for Node.js contains a polyfill of fetch that Node.js 20 does not need.
  alias: { ofetch: './node_modules/ofetch/dist/index.mjs' },
  loader: { '.html': 'text', '.yaml': 'text' },
  // An ES module has no `__dirname`. The WebAssembly loader of ssh2 reads this variable, so it must be defined, although no file is loaded
  // from there.
  define: { SVC_VERSION: JSON.stringify(version), __dirname: '"/"' },
  plugins: [swaggerUi, openapi, scripts, webFiles, passwordWorker, patchedPackages(false)],
  logLevel: 'warning',
};

/**
 * Options of the executable. Names are not minified, for readers and stack traces. The build appends the licences of all packages.
 *
 * @type {import('esbuild').BuildOptions}
 */
export const executableOptions = {
  ...bundleOptions,
  absWorkingDir: new URL('..', import.meta.url).pathname.replace(/\/$/, ''),
  entryPoints: ['bin/svc.ts'],
  plugins: [builtinModules, ...bundleOptions.plugins.slice(0, -1), patchedPackages(true)],
  banner: { js: requireBanner },
  sourcemap: 'linked',
  sourcesContent: false,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
};
