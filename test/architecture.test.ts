import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { eventCatalogue } from '../src/events/catalogue.ts';

/** Ranks from low to high: a file imports from a lower rank or from its own folder (docs/design/architecture.md#who-may-import-whom). */
const ranks = [
  ['lib'],
  ['web'],
  ['accounts'],
  ['events'],
  ['auth', 'certificates', 'files', 'webhooks'],
  ['expectations'],
  ['state'],
  ['http', 'ssh', 'monitor', 'control'],
  ['config'],
  ['console'],
  ['server'],
  ['cli'],
  ['bin'],
];

/** For each package: the only places that may import it. A place that ends in `/` is a folder. */
const homes: Record<string, string[]> = {
  hono: ['src/http/', 'src/monitor/', 'src/console/'],
  '@hono/node-server': ['src/http/', 'src/monitor/', 'src/console/'],
  ofetch: ['src/lib/remote/'],
  commander: ['src/cli/'],
  cosmiconfig: ['src/config/reading/'],
  yaml: [
    'src/lib/yaml-document.ts',
    'src/config/reading/',
    'src/accounts/accounts-file.ts',
    'src/cli/tools/documents.ts',
    'src/cli/import/',
  ],
  zod: [
    'src/config/',
    'src/lib/option-types.ts',
    'src/accounts/accounts-file.ts',
    'src/accounts/options.ts',
    'src/auth/options.ts',
    'src/certificates/options.ts',
    'src/auth/callout-reply.ts',
    'src/state/redis/callout-cache.ts',
    'src/cli/',
    'src/console/',
    'src/control/collection.ts',
    'src/control/shown-grants.ts',
    'src/control/shown-node.ts',
    'src/events/options.ts',
    'src/expectations/',
    'src/server/control.ts',
    'src/server/grant-orders.ts',
    'src/files/inspections/options.ts',
    'src/events/journal/checkpoints.ts',
    'src/events/journal/export.ts',
    'src/events/journal/verify.ts',
    'src/state/redis/journal/redis-event-log.ts',
    'src/files/uploads/options.ts',
    'src/state/redis/locks.ts',
    'src/lib/redis/redis-values.ts',
    'src/server/nodes/node-messages.ts',
    'src/server/supervisor/',
    'src/http/options.ts',
    'src/http/appearance-options.ts',
    'src/monitor/options.ts',
    'src/ssh/options.ts',
    'src/webhooks/options.ts',
    'src/webhooks/common-options.ts',
    'src/webhooks/forward/options.ts',
    'src/webhooks/records/delivery-record-schema.ts',
    'src/state/redis/delivery-store.ts',
    'src/webhooks/replay/',
  ],
  croner: ['src/expectations/'],
  re2js: ['src/lib/expression.ts'],
  'fast-xml-parser': ['src/lib/xml/'],
  '@fastify/busboy': ['src/http/request/form-fields.ts'],
  'node:fs': [
    'src/files/',
    'src/accounts/',
    'src/config/',
    'src/cli/',
    'src/control/',
    'src/events/journal/',
    'src/lib/disk/',
    'src/lib/remote/',
    'src/certificates/',
    'src/http/appearance-options.ts',
    'src/ssh/host-keys.ts',
    'src/ssh/sftp/open-file.ts',
    'src/webhooks/replay/selected-events.ts',
    'src/webhooks/records/delivery-log.ts',
    'src/state/memory/',
    'src/state/redis/journal/',
  ],
  'node:cluster': ['src/cli/serve/'],
  'node:fs/promises': ['src/lib/disk/', 'src/events/journal/'],
  'prom-client': ['src/monitor/'],
  '@redis/client': ['src/lib/redis/'],
  ssh2: ['src/ssh/'],
  fflate: ['src/web/files/previews/archive/'],
  marked: ['src/web/files/previews/text/'],
  '@codemirror/legacy-modes': ['src/web/files/previews/text/'],
  '@codemirror/streamparser': ['src/web/files/previews/text/'],
};

const largestFolder = 40;
const largestFileLines = 400;

interface SourceFile {
  path: string;
  text: string;
  imports: string[];
}

function sourcesBelow(folder: string, ending = /\.(ts|mjs)$/): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => {
      const path = join(folder, name);
      const text = readFileSync(path, 'utf8');
      return { path, text, imports: [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] as string) };
    });
}

const sources = [...sourcesBelow('src'), ...sourcesBelow('bin')];
const everything = [...sources, ...sourcesBelow('test'), ...sourcesBelow('scripts')];

function rankOf(path: string): number {
  const room = path.startsWith('bin/') ? 'bin' : (path.split('/')[1] as string);
  return ranks.findIndex((names) => names.includes(room));
}

function targetOf(source: SourceFile, specifier: string): string {
  return normalize(join(dirname(source.path), specifier));
}

test('every room has a rank', () => {
  const homeless = sources.filter((source) => rankOf(source.path) < 0 && !source.path.endsWith('.d.ts'));
  assert.deepEqual(
    homeless.map((source) => source.path),
    [],
  );
});

test('the diagram of the rooms shows every folder', () => {
  const [, picture = ''] = readFileSync('docs/design/architecture.md', 'utf8').split('```');
  const rooms = new Map(picture.split(/^ {2}(?=\w+\/)/m).map((room) => [room.slice(0, room.indexOf('/')), room]));
  const folders = new Set(sources.map(({ path }) => dirname(path)).filter((folder) => !/^(bin|src)$|\/web\/|\/locales$/.test(folder)));
  const missing = [...folders].filter((folder) => {
    const [, room = '', ...inside] = folder.split('/');
    return !rooms.get(room)?.includes(`${inside.at(-1) ?? room}/`);
  });
  assert.deepEqual(missing, []);
});

test('imports go to lower ranks or to the same folder', () => {
  const wrong = sources.flatMap((source) =>
    source.imports
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => targetOf(source, specifier))
      .filter((target) => rankOf(target) >= rankOf(source.path) && source.path.split('/')[1] !== target.split('/')[1])
      .filter(() => !source.path.startsWith('src/web/'))
      .map((target) => `${source.path} -> ${target}`),
  );
  assert.deepEqual(wrong, []);
});

test('in http, the code of requests and replies does not import the features that use it', () => {
  const carriers = /^src\/http\/(?:connection|request|reply)\//;
  const wrong = sources
    .filter(({ path }) => carriers.test(path))
    .flatMap((source) =>
      source.imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => targetOf(source, specifier))
        .filter((target) => /^src\/http\/[^/]+\//.test(target) && !carriers.test(target))
        .map((target) => `${source.path} -> ${target}`),
    );
  assert.deepEqual(wrong, []);
});

test('in http, path and query come from the target that was parsed once, and handlers do not use the raw request or response', () => {
  const wrong = sources
    .filter(({ path }) => path.startsWith('src/http/'))
    // Text in backquotes belongs to a comment.
    .flatMap(({ path, text }) => [...text.matchAll(/(?<!`)\b(?:c|context)\.(?:req|res)\b/g)].map(([use]) => `${path}: ${use}`));
  assert.deepEqual(wrong, []);
});

test('each package is imported only at its place', () => {
  const wrong = sources.flatMap((source) =>
    source.imports
      .filter((specifier) => !specifier.startsWith('.'))
      .map((specifier) =>
        specifier.startsWith('node:')
          ? specifier
          : specifier
              .split('/')
              .slice(0, specifier.startsWith('@') ? 2 : 1)
              .join('/'),
      )
      .filter((name) => homes[name] && !homes[name].some((home) => source.path.startsWith(home)))
      .map((name) => `${source.path} imports ${name}`),
  );
  assert.deepEqual(wrong, []);
});

/** The stores, and the files that connect to Redis. */
const redisUsers = /^src\/(state\/redis|lib\/redis)\/|^src\/(server\/state-redis|cli\/journal\/forward)\.ts$/;

test('only the stores in state/redis call Redis; auth, files, webhooks and events have no files for Redis', () => {
  const askers = sources.filter(
    (source) =>
      !redisUsers.test(source.path) &&
      source.imports.some((specifier) => /lib\/redis\/redis-(link|connection|connector|script|finder)\.ts$/.test(specifier)),
  );
  const misplaced = sources.filter(({ path }) => /^src\/(auth|files|webhooks|events)\/.*redis/.test(path));
  assert.deepEqual(
    [...askers, ...misplaced].map(({ path }) => path),
    [],
  );
});

test('imports form no cycles', () => {
  const graph = new Map(
    sources.map((source) => [source.path, source.imports.filter((name) => name.startsWith('.')).map((name) => targetOf(source, name))]),
  );
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): string | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path].join(' -> ');
    if (done.has(path)) return undefined;
    for (const next of graph.get(path) ?? []) {
      const cycle = visit(next, [...trail, path]);
      if (cycle) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of graph.keys()) assert.equal(visit(path, []), undefined);
});

test('web imports values only from lib, and other rooms import only texts from web', () => {
  const values = (source: SourceFile) =>
    [...source.text.matchAll(/^(?:import|export) (?!type )[^;]*? from '(\.[^']+)'/gms)].map(([, specifier = '']) =>
      targetOf(source, specifier),
    );
  const wrong = sources.flatMap((source) =>
    values(source)
      .filter((target) =>
        source.path.startsWith('src/web/')
          ? !/^src\/(?:web|lib)\//.test(target)
          : target.startsWith('src/web/') && !target.startsWith('src/web/texts/'),
      )
      .map((target) => `${source.path} -> ${target}`),
  );
  assert.deepEqual(wrong, []);
});

test(`no file has more than ${largestFileLines} lines`, () => {
  const long = [...everything, ...sourcesBelow('src/web', /\.css$/)]
    .filter((source) => source.text.split('\n').length > largestFileLines + 1)
    .map((source) => source.path);
  assert.deepEqual(long, []);
});

test(`no folder has more than ${largestFolder} files`, () => {
  const counts = new Map<string, number>();
  for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  assert.deepEqual(
    [...counts].filter(([, count]) => count > largestFolder),
    [],
  );
});

test('only lib/clock.ts reads the time', () => {
  const wrong = sources.filter(
    (source) =>
      source.path !== 'src/lib/clock.ts' &&
      // Pages use the clock and the timers of their browser, which tests set there.
      !source.path.startsWith('src/web/') &&
      /\b(Date\.now|setTimeout|setInterval)\b\s*\(/.test(source.text) &&
      !/\.setTimeout\(/.test(source.text),
  );
  assert.deepEqual(
    wrong.map((source) => source.path),
    [],
  );
});

test('nothing is marked as unfinished, and there are no barrels', () => {
  const marks = new RegExp(['TO', 'DO|FIX', 'ME'].join(''));
  assert.deepEqual(
    sources.filter((source) => marks.test(source.text) || /\/index\.ts$/.test(source.path)).map((source) => source.path),
    [],
  );
});

test('functions that Node.js calls for a request or connection are guarded, so that an error in them does not end the process', () => {
  const calls = /(?:\.(?:on|once)\(\s*'?\w+'?,|setImmediate\(|queueMicrotask\(|nextTick\()\s*([\w.#]+\(?|\(\) => \{\}|[^\n]*)/g;
  const unguarded = sources
    .filter(({ path }) => path.startsWith('src/http/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(calls)]
        // The server itself is not a request, and `app.onError` handles errors of routes.
        .filter(({ index }) => !/(this\.#server|\bapp)$/.test(text.slice(0, index)))
        .map(([, listener = '']) => listener)
        .filter((listener) => !/^(exchange\.catching|catching)\(|^\(\) => \{\}|^resolve\.bind\(/.test(listener))
        .filter((listener) => !new RegExp(`const ${listener.replace(/\W/g, '')} = (exchange\\.catching|catching)\\(`).test(text))
        .map((listener) => `${path}: ${listener}`),
    );
  assert.deepEqual(unguarded, []);
});

test('the code of the console is loaded only if a console is configured', () => {
  const rest = sources.filter(({ path }) => !path.startsWith('src/console/'));
  const imports = rest.flatMap((source) =>
    [...source.text.matchAll(/^(?:import|export) (?!type )[^;]*? from '([^']+)';$/gms)]
      .filter(([, specifier = '']) => targetOf(source, specifier).startsWith('src/console/'))
      .map(([, specifier]) => `${source.path}: ${specifier}`),
  );
  assert.deepEqual(imports, []);
  assert.ok(rest.some(({ text }) => text.includes("await import('../../console/console-server.ts')")));
});

test('at its start, the command line loads no schemas, packages or rooms that only some commands need', () => {
  const loaded = new Set<string>();
  const visit = (path: string) => {
    const source = sources.find((one) => one.path === path);
    if (!source || loaded.has(path)) return;
    loaded.add(path);
    for (const [, specifier = ''] of source.text.matchAll(/^(?:import|export) (?!type )[^;]*? from '([^']+)';$/gms))
      if (specifier.startsWith('.')) visit(targetOf(source, specifier));
      else loaded.add(specifier);
  };
  visit('bin/svc.ts');
  assert.ok(loaded.has('src/cli/register-service.ts'));
  assert.deepEqual(
    [...loaded].filter((name) => /^src\/(config|state|console|server)\/|^(?!src|bin|node:|commander)/.test(name)),
    [],
  );
});

test('only the OpenAPI document loads the schemas of the console API', () => {
  const described = /^src\/console\/api\/(?:schemas\/|openapi\/|(?:[a-z]+-)?operations\.ts)/;
  const eager = sources
    .filter(({ path }) => !described.test(path))
    .flatMap((source) =>
      [...source.text.matchAll(/^(?:import|export) (?!type )[^;]*? from '(\.[^']+)';$/gms)]
        .filter(([, specifier = '']) => described.test(targetOf(source, specifier)))
        .map(([, specifier]) => `${source.path}: ${specifier}`),
    );
  assert.deepEqual(eager, []);
});

test('comments and messages are plain: none begins with "What", none contains whoever, whatever, so many and the like', () => {
  const homemade =
    /(?:^|[^:'])\/\/ ?What |\/\*\* ?What |^\s*\* What |\b(?:whoever|whatever|so (?:long|many|much)|there where|the like)\b/gm;
  const written = everything.filter(({ path }) => path !== 'test/architecture.test.ts');
  const wrong = written.flatMap(({ path, text }) => [...text.matchAll(homemade)].map(([word]) => `${path}: ${word.trim()}`));
  assert.deepEqual(wrong, []);
});

test('events are named by constants of the catalogue, limits are named max…, and injected objects are named Dependencies', () => {
  const named = sources.filter(({ path }) => path !== 'src/events/catalogue.ts' && !path.startsWith('src/web/'));
  const ids = new Set(eventCatalogue.map(({ id }) => String(id)));
  const wrong = named.flatMap(({ path, text }) =>
    [...text.matchAll(/\bmost[A-Z]\w*|\w*Surroundings\b|(?<![\d.])\d{5}(?![\d_])/g)]
      .filter(([word]) => !/^\d/.test(word) || ids.has(word))
      .map(([word]) => `${path}: ${word}`),
  );
  assert.deepEqual(wrong, []);
});
