// Finds the packages in a bundle. The licences at the end of the bundle, its SBOM and the tests of both use the list.
import { readdirSync, readFileSync } from 'node:fs';

/** Packages that a plugin adds (bundle-options.mjs), which are not in the bundle's list of inputs. */
const packed = ['swagger-ui-dist'];

/**
 * Returns the packages of a bundle, by name.
 *
 * @param {Record<string, unknown>} inputs inputs of esbuild's metafile
 */
export function bundledPackages(inputs) {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const paths = new Set(packed.map((name) => `node_modules/${name}`));
  for (const input of Object.keys(inputs)) {
    const path = /^(?:.*\/)?(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];
    if (path) paths.add(path);
  }
  return [...paths].sort().map((path) => {
    // Some packages have the older field `licenses`.
    const {
      name,
      version,
      licenses,
      license = licenses?.[0]?.type ?? 'UNKNOWN',
    } = JSON.parse(readFileSync(`${path}/package.json`, 'utf8'));
    const { integrity = '', hasInstallScript = false } = packages[path] ?? {};
    return { name, version, license, integrity, hasInstallScript, licenceText: licenceFiles(path) };
  });
}

function licenceFiles(path) {
  const files = readdirSync(path).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  return files
    .sort()
    .map((file) => readFileSync(`${path}/${file}`, 'utf8').trim())
    .join('\n\n');
}

/** Returns the licences of svc and of the packages inside, as `svc --licenses` prints them. */
export function licencesOf(packages, { version }) {
  const own = { name: 'svc', version, license: 'MIT', licenceText: readFileSync('LICENSE', 'utf8').trim() };
  const texts = [own, ...packages].map(({ name, version, license, licenceText }) => `${name} ${version}: ${license}\n\n${licenceText}`);
  return texts.join(`\n\n${'-'.repeat(80)}\n\n`);
}

/**
 * Returns the licences as a comment for the end of the bundle. The comment is ASCII, because a single other character in a script makes
 * Node.js need more time and memory for the whole script.
 */
export function licenceComment(licences) {
  const text = licences.replaceAll('*/', '* /');
  const escaped = text.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `/*\nLicences of the packages in this file (\\uXXXX is a character beyond ASCII).\n\n${escaped}\n*/\n`;
}

/**
 * Returns a CycloneDX document. It has no time and no serial number, so that the same sources give the same bytes.
 *
 * @param packages packages of a bundle
 * @param more further components
 */
export function sbomOf(packages, version, more = []) {
  const ofPackages = packages.map(({ name, version, license, integrity }) => ({
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [/^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license.replace(/^\(|\)$/g, '') }],
    hashes: integrity.startsWith('sha512-') ? [sha512(integrity)] : [],
  }));
  const components = [...more, ...ofPackages];
  const metadata = { component: { type: 'application', name: 'svc', version, licenses: [{ license: { id: 'MIT' } }] } };
  return `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, metadata, components }, null, 2)}\n`;
}

/** Returns a hash in the form of CycloneDX. @param integrity hash in the form of lock files: `sha512-` and base64 */
export function sha512(integrity) {
  return { alg: 'SHA-512', content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') };
}
