import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { Metrics } from '../../src/monitor/metrics.ts';
import { selfSigned } from '../support/certificates.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const folder = join(process.env.SVC_ROOT ?? process.cwd(), 'examples/operations');
const readExample = (name: string) => readFileSync(join(folder, name), 'utf8');

/** Returns the names of all metrics of a scrape, including those without samples. */
async function knownNames(): Promise<Set<string>> {
  const metrics = new Metrics(
    {
      checks: async () => ({}),
      services: async () => [],
      expectations: () => [],
      certificates: () => [],
      handlers: async () => [],
      suspendedUrls: async () => [],
      journalBytes: async () => 0,
      held: async () => ({ held: 0, inspecting: 0, oldestS: 0 }),
      configHash: () => '',
      shared: async () => undefined,
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

test('the dashboard and the alert rules name only existing metrics, and the documentation names all', async () => {
  const known = await knownNames();
  const named = (text: string) => new Set(text.match(/\b(?:svc|process)_[a-z_]+\b/g));
  assert.ok(known.size > 30);
  const dashboard = JSON.parse(readExample('dashboard.json')) as { panels: { targets: { expr: string }[] }[] };
  const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  assert.ok(expressions.length >= 15);
  for (const text of [...expressions, readExample('alerts.yaml')])
    for (const name of named(text)) assert.ok(known.has(name), `${name} of ${text.slice(0, 80)}`);
  const page = readFileSync(join(folder, '../../docs/operate/monitoring.md'), 'utf8');
  const own = [...known].filter((name) => name.startsWith('svc_') && !/_(bucket|count|sum)$/.test(name));
  assert.deepEqual(
    own.filter((name) => !page.includes(name)),
    [],
    'these names are missing in the documentation',
  );
});

test('promtool accepts the alert rules and the configuration of Prometheus', (t) => {
  if (!hasProgram(t, 'promtool')) return;
  for (const args of [
    ['check', 'rules', 'alerts.yaml'],
    ['check', 'config', 'prometheus.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  }
});

test('the inspection alerts fire after ten minutes of failures, and after an upload was held for a day', (t) => {
  if (!hasProgram(t, 'promtool')) return;
  const cwd = temporaryFolder(t);
  const tests = `rule_files: [${join(folder, 'alerts.yaml')}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'svc_inspections_total{inspection="virus",verdict="failure"}', values: '0+1x60'}
      - {series: 'svc_inspections_total{inspection="schema",verdict="accept"}', values: '0+1x60'}
      - {series: 'svc_held_oldest_seconds', values: '84000+60x60'}
    alert_rule_test:
      - {eval_time: 5m, alertname: SvcInspectionsFail, exp_alerts: []}
      - eval_time: 30m
        alertname: SvcInspectionsFail
        exp_alerts:
          - exp_labels: {severity: ticket, inspection: virus}
            exp_annotations: {summary: 'The inspection virus fails, so uploads are held or refused.'}
      - {eval_time: 40m, alertname: SvcHeldUploadsWait, exp_alerts: []}
      - eval_time: 55m
        alertname: SvcHeldUploadsWait
        exp_alerts:
          - exp_labels: {severity: ticket}
            exp_annotations: {summary: 'An upload has been held for more than a day; svc held list shows it.'}
`;
  writeFileSync(join(cwd, 'test.yaml'), tests);
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'test.yaml'], { cwd, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

test('nginx accepts the configurations of the examples', (t) => {
  if (!hasProgram(t, 'nginx') || !hasProgram(t, 'openssl')) return;
  const cwd = temporaryFolder(t);
  const { key, cert } = selfSigned(t);
  writeFileSync(join(cwd, 'files.pem'), cert);
  writeFileSync(join(cwd, 'files.key'), key);
  writeFileSync(join(cwd, 'site.conf'), reachable(readExample('nodes/nginx.conf')).replaceAll('/etc/ssl/', `${cwd}/`));
  writeFileSync(join(cwd, 'main.conf'), `pid ${cwd}/pid;\nevents {}\nhttp { include ${cwd}/site.conf; }\n`);
  writeFileSync(join(cwd, 'three.conf'), readExample('three-nodes/nginx.conf'));
  for (const name of ['main.conf', 'three.conf']) {
    const { status, stderr } = spawnSync('nginx', ['-t', '-p', cwd, '-c', name, '-e', 'stderr'], { cwd, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  }
});

test('HAProxy accepts the configuration of the example', (t) => {
  if (!hasProgram(t, 'haproxy')) return;
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'haproxy.cfg'), reachable(readExample('nodes/haproxy.cfg')));
  const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', 'haproxy.cfg'], { cwd, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

test('the nodes of the compose file differ only in name and data', () => {
  const { services } = parse(readExample('nodes/compose.yaml'), { merge: true }) as {
    services: Record<string, { environment?: Record<string, string>; command: string[]; volumes: string[] }>;
  };
  const nodes = ['node1', 'node2', 'node3'].map((name) => {
    const node = services[name];
    assert.equal(node?.environment?.NODE, name);
    assert.ok(node.volumes.includes(`${name}:/var/lib/svc`) && node.volumes.includes('files:/srv/files'));
    return JSON.stringify(node).replaceAll(name, 'node');
  });
  assert.equal(new Set(nodes).size, 1);
});

/** Replaces host names that exist only in a deployment. */
function reachable(text: string): string {
  return text.replace(/\bnode[123]:/g, '127.0.0.1:');
}
