import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { run } from '../support/child.ts';
import { temporaryFolder } from '../support/temp.ts';

const root = process.env.SVC_ROOT ?? process.cwd();
const folder = join(root, 'examples/operations/kubernetes');

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: the members of each kind are checked against the types of Kubernetes
  [member: string]: any;
}

const manifests = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((document): Manifest => document.toJS()));

function manifest(kind: string, name = 'svc'): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  assert.ok(found, `${kind} ${name}`);
  return found;
}

test('the manifests conform to the schemas of Kubernetes and have no unknown members', () => {
  // The schemas accept unknown members, so the compiler checks the members.
  const lines = manifests.map(({ apiVersion, kind }, index) => {
    const module = apiVersion.includes('/') ? apiVersion : `${apiVersion}`;
    return `import { type I${kind} as T${index}, ${kind} as C${index} } from 'kubernetes-models/${module}/${kind}';`;
  });
  const values = manifests.map(
    (one, index) => `const m${index}: T${index} = ${JSON.stringify(one)};\nnew C${index}(m${index}).validate();`,
  );
  const place = join(root, '.cache/kubernetes');
  mkdirSync(place, { recursive: true });
  const source = join(place, 'manifests.mts');
  writeFileSync(source, [...lines, ...values].join('\n'));
  const compiler = join(root, 'node_modules/.bin/tsc');
  const options = ['--ignoreConfig', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022'];
  const compiled = spawnSync(compiler, [...options, '--outDir', place, source], { cwd: place, encoding: 'utf8' });
  assert.equal(compiled.status, 0, compiled.stdout);
  const validated = spawnSync(process.execPath, [join(place, 'manifests.mjs')], { cwd: place, encoding: 'utf8' });
  assert.equal(validated.status, 0, validated.stderr);
});

test('the configuration of the cluster is valid, and agrees with probes, ports, secrets and times', async (t) => {
  const cwd = temporaryFolder(t);
  const secrets = Object.keys(manifest('Secret').stringData);
  const text = (manifest('ConfigMap').data['svc.config.yaml'] as string).replaceAll('/run/secrets/svc/', `${cwd}/`);
  for (const name of secrets) writeFileSync(join(cwd, name), 'a secret of at least thirty-two characters', { mode: 0o600 });
  writeFileSync(join(cwd, 'svc.config.yaml'), text);
  const pod = manifest('StatefulSet').spec.template.spec;
  const [container] = pod.containers;
  const env = Object.fromEntries(container.env.map(({ name, value = 'svc-0' }: { name: string; value?: string }) => [name, value]));
  const checked = await run(t, ['validate', 'svc.config.yaml', '--strict', '--json'], { cwd, env });
  const problems = JSON.parse(checked.stdout).findings.filter(({ message }: { message: string }) => !/does not exist/.test(message));
  assert.deepEqual(problems, [], checked.stderr);
  const { server, services } = parse(text);
  assert.ok(pod.terminationGracePeriodSeconds > server.shutdown_delay + server.shutdown_timeout);
  const ports = Object.fromEntries(
    container.ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [name, containerPort]),
  );
  assert.deepEqual(ports, { http: services.web.port, monitor: services.monitor.port });
  const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((name) => container[name].httpGet);
  assert.deepEqual(
    probes.map(({ path, port }) => `${port}${path}`),
    ['monitor/health', 'monitor/health', 'monitor/ready'],
  );
  const used = [...(manifest('ConfigMap').data['svc.config.yaml'] as string).matchAll(/\$\{file:\/run\/secrets\/svc\/([\w-]+)\}/g)];
  assert.deepEqual(used.map(([, name]) => name).sort(), secrets.sort());
  for (const { name } of container.volumeMounts) {
    const volumes = [...pod.volumes, ...manifest('StatefulSet').spec.volumeClaimTemplates.map(({ metadata }: Manifest) => metadata)];
    assert.ok(
      volumes.some((volume: { name: string }) => volume.name === name),
      name,
    );
  }
});

test('all selectors use the label of the pods, and the pods have no privileges that they do not need', () => {
  const label = { 'app.kubernetes.io/name': 'svc' };
  const { spec } = manifest('StatefulSet');
  assert.deepEqual(spec.template.metadata.labels, label);
  assert.deepEqual(spec.selector.matchLabels, label);
  for (const name of ['svc', 'svc-nodes']) assert.deepEqual(manifest('Service', name).spec.selector, label);
  assert.deepEqual(manifest('PodDisruptionBudget').spec.selector.matchLabels, label);
  assert.deepEqual(manifest('NetworkPolicy').spec.podSelector.matchLabels, label);
  assert.equal(manifest('HorizontalPodAutoscaler').spec.scaleTargetRef.kind, 'StatefulSet');
  assert.equal(manifest('Service', spec.serviceName).spec.clusterIP, 'None');
  const [{ securityContext }] = spec.template.spec.containers;
  assert.deepEqual(securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
  assert.equal(spec.template.spec.securityContext.runAsNonRoot, true);
});
