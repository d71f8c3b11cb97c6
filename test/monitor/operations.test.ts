import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Metrics } from '../../src/monitor/metrics.ts';
import { hasProgram } from '../support/requires.ts';

const folder = join(process.env.SVC_ROOT ?? '.', 'examples/operations');
const readExample = (name: string) => readFileSync(join(folder, name), 'utf8');

/** The names that a scrape has, of metrics without samples too. */
async function knownNames(): Promise<Set<string>> {
  const metrics = new Metrics(
    {
      checks: async () => ({}),
      services: async () => [],
      handlers: async () => [],
      suspendedUrls: async () => [],
      journalBytes: async () => 0,
    },
    '0',
  );
  const names = new Set<string>();
  for (const [, name = '', type] of (await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    names.add(name);
    if (type === 'histogram') for (const suffix of ['_bucket', '_count', '_sum']) names.add(name + suffix);
  }
  return names;
}

test('dashboard, alert rules and README speak of metrics that exist, and the README of all of them', async () => {
  const known = await knownNames();
  const named = (text: string) => new Set(text.match(/\b(?:svc|process)_[a-z_]+\b/g));
  assert.ok(known.size > 30);
  const dashboard = JSON.parse(readExample('dashboard.json')) as { panels: { targets: { expr: string }[] }[] };
  const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  assert.ok(expressions.length >= 15);
  for (const text of [...expressions, readExample('alerts.yaml')])
    for (const name of named(text)) assert.ok(known.has(name), `${name} of ${text.slice(0, 80)}`);
  const readme = readFileSync(join(folder, '../../README.md'), 'utf8');
  const own = [...known].filter((name) => name.startsWith('svc_') && !/_(bucket|count|sum)$/.test(name));
  assert.deepEqual(
    own.filter((name) => !readme.includes(name)),
    [],
    'missing in the README',
  );
});

test('promtool accepts alert rules and configuration', (t) => {
  if (!hasProgram(t, 'promtool')) return;
  for (const args of [
    ['check', 'rules', 'alerts.yaml'],
    ['check', 'config', 'prometheus.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  }
});
