// Reports known vulnerabilities of the packages. Fails for a high or critical one, unless `scripts/packages/assessments.json` says that svc
// is not affected. Passes if the registry cannot be reached.
import { spawnSync } from 'node:child_process';
import { readAssessments } from './packages/release-documents.mjs';

const { stdout = '' } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8', timeout: 30_000 });
const report = parsed(stdout);
if (!report?.metadata) {
  console.log('npm audit gave no report (no registry?); nothing was checked.');
  process.exit(0);
}
const { info, low, moderate, high, critical } = report.metadata.vulnerabilities;
console.log(`npm audit: ${critical} critical, ${high} high, ${moderate} moderate, ${low} low, ${info} informational`);
for (const [name, { severity, via }] of Object.entries(report.vulnerabilities ?? {}))
  console.log(`  ${severity}: ${name}: ${via.map((item) => (typeof item === 'string' ? item : item.title)).join('; ')}`);
const harmless = new Set(
  readAssessments(new URL('..', import.meta.url).pathname).flatMap(({ id, state }) => (state === 'not_affected' ? [id] : [])),
);
// Names in `via` are dependencies, which have entries of their own.
const open = Object.values(report.vulnerabilities ?? {})
  .flatMap(({ via }) => via)
  .filter(({ severity, url = '' }) => (severity === 'high' || severity === 'critical') && !harmless.has(url.split('/').at(-1)));
process.exit(open.length > 0 ? 1 : 0);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
