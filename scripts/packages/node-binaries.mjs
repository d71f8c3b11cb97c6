// Fetches Node.js for the binaries from packages on the npm registry. The hash of each package is fixed.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sha512 } from '../bundled-packages.mjs';

/**
 * A release with long-term support. All platforms use the same version, because Node.js of this machine creates the blob with the script,
 * and only the same version can read it.
 */
export const nodeVersion = '24.21.0';

/** For each platform, the hash of its package, and the path of the executable in the package. */
export const platforms = {
  'linux-x64': {
    executable: 'bin/node',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    executable: 'bin/node',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'win-x64': {
    executable: 'bin/node.exe',
    integrity: 'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  },
};

export const thisPlatform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/**
 * Returns the folder with the Node.js of a platform. If it does not exist yet, npm fetches it.
 *
 * @param {string} platform name in `platforms`
 * @returns {{ folder: string, executable: string, licence: string }} paths
 * @throws if the package that the registry sends does not have the expected hash
 */
export function nodeOf(platform) {
  const { executable, integrity } = platforms[platform];
  const folder = resolve(`.cache/node-${nodeVersion}-${platform}`);
  if (!existsSync(folder)) fetchPackage(`node-${platform}@${nodeVersion}`, { folder, integrity });
  return { folder, executable: join(folder, executable), licence: join(folder, 'LICENSE') };
}

function fetchPackage(name, { folder, integrity }) {
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    const [{ filename }] = JSON.parse(
      execFileSync('npm', ['pack', name, '--json', '--silent', '--pack-destination', unfinished], { encoding: 'utf8' }),
    );
    const tarball = join(unfinished, filename);
    const found = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
    if (found !== integrity) throw new Error(`${name} has the hash ${found}, not ${integrity}.`);
    execFileSync('tar', ['-xzf', tarball, '-C', unfinished, '--strip-components=1']);
    rmSync(tarball);
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/**
 * Returns Node.js and the libraries in it as a component of an SBOM (CycloneDX).
 *
 * @param {string} platform name in `platforms`
 */
export function nodeComponent(platform) {
  const versions = execFileSync(nodeOf(thisPlatform).executable, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' });
  // `modules` and `napi` are version numbers of interfaces, not of libraries.
  const { node, modules: _, napi: __, ...libraries } = JSON.parse(versions);
  return {
    type: 'platform',
    name: 'Node.js',
    version: node,
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
    purl: `pkg:npm/node-${platform}@${nodeVersion}`,
    licenses: [{ license: { id: 'MIT' } }],
    hashes: [sha512(platforms[platform].integrity)],
    components: Object.entries(libraries).map(([name, version]) => ({ type: 'library', name, version })),
  };
}
