// Creates the documents of a release: provenance, VEX (known vulnerabilities) and signatures. Also lists the steps that only a person can
// do.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Namespace of the signatures (ssh-keygen(1), -n). Because of it, a signature that the same key made for another purpose is not valid. */
export const signatureNamespace = 'svc-release';

/**
 * Returns a provenance statement (in-toto Statement v1, SLSA provenance v1). It contains no time, so that the same commit gives the same
 * bytes.
 *
 * @param {{ commit: string, command: string, subjects: Record<string, string>, node: string, platform: string,
 *   materials: { name: string, digest: Record<string, string> }[] }} build `subjects` maps file names to SHA-256 hashes; `materials` are all
 *   inputs of the build
 */
export function provenanceOf({ commit, command, subjects, materials, node, platform }) {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: Object.entries(subjects).map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:svc:release-check:1',
        externalParameters: { command, commit },
        internalParameters: { node, platform },
        resolvedDependencies: [{ name: 'source', digest: { gitCommit: commit } }, ...materials],
      },
      runDetails: { builder: { id: 'urn:svc:two-fresh-clones' } },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}

/** Reads the vulnerabilities that a person has assessed. @param {string} root folder of the repository */
export function readAssessments(root) {
  return JSON.parse(readFileSync(join(root, 'scripts/packages/assessments.json'), 'utf8'));
}

/**
 * Returns a VEX document (CycloneDX). For each known vulnerability of an included package, it says whether svc is affected and, if not,
 * why.
 *
 * @param {{ id: string, package: string, state: string, justification?: string, detail: string }[]} assessments
 * @param {{ components: { name: string, purl?: string }[] }} sbom of the same release
 * @throws if an assessment has no reason, or if its package is not included
 */
export function vexOf(assessments, version, sbom) {
  const vulnerabilities = assessments.map(({ id, package: name, state, justification, detail }) => {
    const component = sbom.components.find((one) => one.name === name);
    if (!component) throw new Error(`assessments.json: ${id} is about ${name}, which is not in the release: remove it.`);
    if (!detail || (state === 'not_affected' && !justification)) throw new Error(`assessments.json: ${id} does not say why.`);
    return { id, analysis: { state, ...(justification ? { justification } : {}), detail }, affects: [{ ref: component.purl ?? name }] };
  });
  const metadata = { component: { type: 'application', name: 'svc', version, 'bom-ref': `svc@${version}` } };
  return `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, metadata, vulnerabilities }, null, 2)}\n`;
}

/** Signs a file as `FILE.sig`. @param {string} key file of an OpenSSH private key, or of the public key of a key in the agent */
export function sign(file, key) {
  execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-f', key, '-n', signatureNamespace, file], { stdio: ['inherit', 'ignore', 'pipe'] });
}

/**
 * Returns the steps of a release that only a person can do.
 *
 * @param {{ version: string, changelog: string, isSigned: boolean, isTagged: boolean, wasAudited: boolean }} release
 * @returns {string[]} sentences; the last three are always included
 */
export function leftForAPerson({ version, changelog, isSigned, isTagged, wasAudited }) {
  const heading = new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(([^)]+)\\)$`, 'm').exec(changelog)?.[1];
  const left = [];
  if (heading === undefined) left.push(`CHANGELOG.md has no entry "## ${version} (DATE)": write it.`);
  else if (!/^\d{4}-\d\d-\d\d$/.test(heading)) left.push(`CHANGELOG.md calls ${version} "${heading}": give it the date of the release.`);
  if (!wasAudited)
    left.push('The registry does not publish known vulnerabilities, so none were checked: run "npm audit" with a registry that does.');
  if (!isSigned) left.push('SHA256SUMS is not signed: run this again with SVC_RELEASE_KEY=FILE, the file of the release key.');
  if (!isTagged) left.push(`The commit has no tag: git tag -s v${version}`);
  left.push(
    'Compare SHA256SUMS with those of another person who ran this on another machine.',
    'Try the binaries of the platforms that this machine does not run.',
    'Publish the files and the tag. Publish the line of the public key in a place that people who install svc trust.',
  );
  return left;
}
