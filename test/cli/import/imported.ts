import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Draft, ImportInput, Note } from '../../../src/cli/import/draft.ts';
import { finish } from '../../../src/cli/import/finish.ts';
import { checkSource } from '../../../src/config/check.ts';
import { parseSource } from '../../../src/config/reading/source.ts';
import { readPlainYaml } from '../../../src/lib/yaml-document.ts';
import { run } from '../../support/child.ts';
import { temporaryFolder } from '../../support/temp.ts';

/** Returns the input of an import, with the defaults of the command. */
export function input(given: Partial<ImportInput>): ImportInput {
  return { files: [], root: '/nowhere', home: './files/${USER}', port: undefined, nowMs: Date.parse('2026-11-27'), ...given };
}

interface Written {
  accounts: Record<string, Record<string, unknown>>;
  groups: Record<string, Record<string, unknown>>;
  notes: Note[];
}

/** Asserts that a draft gives a configuration without errors, and that its cases pass. @returns the sections, and the notes */
export async function assertImported(t: TestContext, draft: Draft, from: string, { isTested = true } = {}): Promise<Written> {
  const { config, cases, notes } = finish(draft, from, { config: 'svc.config.yaml', accountsFile: 'svc.accounts.json' });
  const { findings } = checkSource(parseSource('/nowhere/svc.config.yaml', config), {});
  assert.deepEqual(
    findings.filter(({ severity }) => severity === 'error'),
    [],
    config,
  );
  const sections = readPlainYaml(config) as Omit<Written, 'notes'>;
  for (const { what, instead } of notes) assert.ok(what !== '' && instead !== '', `${what} / ${instead}`);
  for (const { password } of Object.values(sections.accounts ?? {}) as { password?: string }[])
    if (password) assert.equal(JSON.stringify(notes).includes(password), false, 'notes contain no passwords');
  if (isTested && draft.accounts.size > 0) {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'svc.config.yaml'), config);
    writeFileSync(join(cwd, 'svc.test.yaml'), cases);
    const { code, stdout, stderr } = await run(t, ['test'], { cwd });
    assert.equal(code, 0, `${config}\n${stdout}\n${stderr}`);
  }
  return { ...sections, notes };
}
