// Reports known vulnerabilities of the packages, as `npm audit` does. Fails if there is a high or critical vulnerability, unless
// `scripts/packages/assessments.json` says that svc is not affected by it. If the registry cannot be reached, the script says so and
// passes.
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
// If a package only inherits a vulnerability from a dependency, `via` is the name of the dependency. Such names are skipped below, because
// the dependency has its own entry.
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
