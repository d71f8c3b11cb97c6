import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sharedFilesContract } from '../contracts/shared-files.ts';
import { runOnNfs } from '../support/nfs.ts';
import { hasProgram } from '../support/requires.ts';

/** The options of the mounts that docs/operate/nodes.md asks for. */
const mountOptions = process.env.SVC_NFS_OPTIONS ?? 'actimeo=0,lookupcache=positive';

const [here, there] = (process.env.SVC_SHARED_FOLDERS ?? '').split(':');
if (here && there) {
  sharedFilesContract('NFS', () => {
    const folder = mkdtempSync(join(here, 'test-'));
    mkdirSync(join(here, `${basename(folder)}/files`));
    return { here: join(folder, 'files'), there: join(there, basename(folder), 'files') };
  });
} else {
  test('nodes that share files over NFS, by two clients of it', { timeout: 120_000 }, async (t) => {
    if (!hasProgram(t, 'linux.uml') || !hasProgram(t, 'rpc.nfsd') || !hasProgram(t, 'modprobe')) return;
    const { code, output } = await runOnNfs(t, fileURLToPath(import.meta.url), mountOptions);
    // A kernel of Linux 6.1 as a process knows no processor whose registers take more room (AVX-512, AMX): no program starts in it there.
    if (output.includes('ptrace set fp regs failed')) {
      console.log(`skipped: ${t.name}: User Mode Linux does not run on this processor`);
      t.skip('User Mode Linux does not run on this processor');
      return;
    }
    const outcome = output.split('\n').filter((line) => /^(?:ok|not ok|# (?:pass|fail) )/.test(line.trim()));
    if (code !== 0) console.log(output);
    assert.equal(code, 0, outcome.join('\n'));
    console.log(outcome.join('\n'));
  });
}
