// Writes all generated documentation: option tables, commands, events and codes of findings to docs/reference, the sizes of svc's web pages
// to docs/use/browser.md, the JSON Schema to examples/, and all texts that people see to .cache/messages.md. With --check it writes
// nothing, and checks that the generated files, except .cache/messages.md, are up to date.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { bundleOptions, requireBanner } from './bundle-options.mjs';
import { pageWeights } from './page-weights.mjs';

process.chdir(new URL('..', import.meta.url).pathname);

async function importSources() {
  const contents =
    "export { configJsonSchema } from './src/config/schema/json-schema.ts'; export { eventCatalogue, pathMembers } from './src/events/catalogue.ts'; export { findingCodes } from './src/config/report-shapes.ts'; export { assetPaths, assets } from './src/http/html/pages/assets.ts';";
  const outfile = '.cache/docs.mjs';
  await build({ ...bundleOptions, stdin: { contents, resolveDir: process.cwd(), loader: 'ts' }, outfile, banner: { js: requireBanner } });
  return import(new URL(`../${outfile}`, import.meta.url));
}

const { assetPaths, assets, configJsonSchema, eventCatalogue, findingCodes, pathMembers } = await importSources();
const schema = configJsonSchema();

function resolve({ $ref, ...node }) {
  const steps = $ref?.split('/').slice(1) ?? [];
  return { ...($ref && steps.reduce((at, key) => at[key], schema)), ...node };
}

function cell(text) {
  return String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** Defaults (as JSON) for which the tables have an empty cell. */
const emptyDefaults = [undefined, 'null', '""', '[]', '{}', '{"include":[],"exclude":[]}'];

function defaultText(node) {
  const text = JSON.stringify(node.default);
  if (text === '{"general":["allow-full-control"],"rules":[]}') return '`[[allow-full-control]]`';
  return emptyDefaults.includes(text) ? '' : `\`${cell(text)}\``;
}

function table(title, node, required = []) {
  const rows = Object.entries(node.properties ?? {}).map(([name, member]) => {
    const option = resolve(member);
    const must = required.includes(name) && option.default === undefined ? ' (required)' : '';
    return `| \`${name}\` | ${defaultText(option)} | ${cell(option.description ?? '')}${must} |`;
  });
  return `### ${title}\n\n${node.description ? `${node.description}\n\n` : ''}| option | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function options() {
  const sections = [];
  const server = resolve(schema.properties.server);
  const nested = ['state', 'log', 'events', 'uploads', 'held', 'password_policy', 'security_policy'];
  sections.push(
    table('`server`', {
      ...server,
      properties: Object.fromEntries(Object.entries(server.properties).filter(([name]) => !nested.includes(name))),
    }),
  );
  for (const name of nested) sections.push(table(`\`server.${name}\``, resolve(server.properties[name])));
  for (const name of ['authentications', 'groups', 'accounts', 'services', 'inspections', 'expectations', 'event_handlers']) {
    const entry = resolve(resolve(schema.properties[name]).additionalProperties);
    const variants = entry.anyOf ?? entry.oneOf;
    if (!variants) sections.push(...groupTables(`${name}.<UUID>`, entry));
    else {
      const seen = new Set();
      for (const variant of variants.map(resolve)) {
        const type = variant.properties.type.const;
        const body = JSON.stringify({ ...variant.properties, type: '', port: '' });
        if (seen.has(body)) continue;
        seen.add(body);
        const label = type === 'http' && name === 'services' ? '`http` and `https`' : `\`${type}\``;
        sections.push(
          table(`\`${name}.<UUID>\` of type ${label}`, { ...variant, description: variant.properties.type.description }, variant.required),
        );
        for (const [option, member] of Object.entries(variant.properties)) {
          const group = resolve(member);
          sections.push(...groupTables(`${name}.<UUID>.${option}`, group));
          const each = group.additionalProperties && resolve(group.additionalProperties);
          if (each?.properties) sections.push(table(`\`${name}.<UUID>.${option}.<name>\``, each, each.required));
        }
      }
    }
  }
  return sections.join('\n');
}

/** Returns the table of a group of options, followed by the tables of the groups in it. */
function groupTables(path, group) {
  if (!group.properties) return [];
  const inside = Object.entries(group.properties).flatMap(([option, member]) => groupTables(`${path}.${option}`, resolve(member)));
  return [table(`\`${path}\``, group, group.required), ...inside];
}

function help(...args) {
  const { stdout, status } = spawnSync(process.execPath, ['dist/svc.mjs', ...args, '--help'], {
    encoding: 'utf8',
    env: { ...process.env, COLUMNS: '100', NO_COLOR: '1' },
  });
  if (status !== 0) throw new Error(`svc ${args.join(' ')} --help ended with ${status}`);
  return stdout.trimEnd();
}

/** Returns all subcommands of a command, as listed by --help. Each is a list that begins with its parents: `['mock', 'auth']`. */
function commandsOf(words) {
  const list = /\nCommands:\n((?: .*\n)+)/.exec(`${help(...words)}\n`)?.[1] ?? '';
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map((match) => match[1]).filter((name) => name !== 'help');
  return names.flatMap((name) => [[...words, name], ...commandsOf([...words, name])]);
}

function commands() {
  return commandsOf([])
    .map((words) => `${'#'.repeat(words.length + 1)} \`svc ${words.join(' ')}\`\n\n\`\`\`text\n${help(...words)}\n\`\`\`\n`)
    .join('\n');
}

function events() {
  const rows = eventCatalogue.map(({ id, meaning, groups, data, isAboutPath }) => {
    const members = [...(isAboutPath ? ['path members'] : []), ...data.map((name) => `\`${name}\``)].join(', ');
    return `| ${id} | ${cell(meaning.replaceAll('{', '‹').replaceAll('}', '›'))} | ${groups.join(', ')} | ${members} |`;
  });
  return `Path members: ${pathMembers.map((name) => `\`${name}\``).join(', ')}.\n\n| ID | meaning | groups | data |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

function findings() {
  const rows = Object.entries(findingCodes).map(([code, meaning]) => `| \`${code}\` | ${cell(meaning)} |`);
  return `| code | meaning |\n|---|---|\n${rows.join('\n')}\n`;
}

/** Returns a documentation page with a new generated part, which is between two comments with the name of the part. */
function pageWith(file, name, make) {
  const pattern = new RegExp(`(<!-- ${name}:start[^>]*-->\n)[\\s\\S]*?(<!-- ${name}:end -->)`);
  const text = readFileSync(file, 'utf8');
  if (!pattern.test(text)) throw new Error(`${file} has no place for the generated ${name}.`);
  return text.replace(pattern, (_, start, end) => `${start}\n${make()}\n${end}`);
}

const generated = { 'examples/svc.schema.json': `${JSON.stringify(schema, null, 2)}\n` };
for (const [name, make] of Object.entries({ configuration: options, commands, events, findings }))
  generated[`docs/reference/${name}.md`] = pageWith(`docs/reference/${name}.md`, name, make);
const weights = await pageWeights(assets.get(assetPaths.style.replace('/__svc__/', '')).body().toString());
generated['docs/use/browser.md'] = pageWith('docs/use/browser.md', 'weights', () => weights);
for (const [file, content] of Object.entries(generated)) {
  if (!process.argv.includes('--check')) writeFileSync(file, content);
  else if (!existsSync(file) || content !== readFileSync(file, 'utf8')) {
    console.error(`${file} is stale: run "npm run docs".`);
    process.exitCode = 1;
  }
}
if (process.argv.includes('--check') && !process.exitCode) console.log('the generated documentation is up to date');
if (!process.argv.includes('--check')) await import('./messages.mjs');
