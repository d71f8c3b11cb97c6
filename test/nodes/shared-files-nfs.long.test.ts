import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sharedFilesContract } from '../contracts/shared-files.ts';
import { type ProgramEnd, runProgram } from '../support/program.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

/** The first program of a separate Linux kernel. It starts an NFS server, mounts it twice, and runs a test file, whose result it stores. */
const script = (folder: string, options: string, testFile: string) => `#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /
mount -t proc proc /proc
mount -t sysfs sys /sys
for place in /mnt /run /var/lib/nfs; do mount -t tmpfs tmpfs $place; done
mkdir -p /mnt/tmp /mnt/export /mnt/here /mnt/there /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mount -t tmpfs tmpfs /mnt/export
ip link set lo up
modprobe -d ${folder} -a nfsd nfs nfsv4
mount -t nfsd nfsd /proc/fs/nfsd
exportfs -o rw,no_root_squash,fsid=0,insecure,no_subtree_check 127.0.0.1:/mnt/export
rpc.nfsd -N 3 4
rpc.mountd -N 3
# The mounts use different versions of the protocol, so that the server treats them as two clients.
mount -t nfs4 -o vers=4.1,nosharecache,${options} 127.0.0.1:/ /mnt/here
mount -t nfs4 -o vers=4.2,nosharecache,${options} 127.0.0.1:/ /mnt/there
export TMPDIR=/mnt/tmp HOME=/mnt/tmp SVC_ALLOW_ROOT=1 SVC_ROOT='${process.env.SVC_ROOT ?? ''}'
SVC_SHARED_FOLDERS=/mnt/here:/mnt/there ${process.execPath} --enable-source-maps --test --test-reporter=tap ${testFile} > ${folder}/output 2>&1
echo $? > ${folder}/code
halt -f
`;

/**
 * Runs a test file on NFS, in User Mode Linux (a Linux kernel as a process), because most machines and containers forbid NFS mounts. The
 * environment there has SVC_SHARED_FOLDERS: two mounts of one export by two clients.
 *
 * @param options mount options, separated by commas
 */
async function runOnNfs(t: TestContext, testFile: string, options: string): Promise<ProgramEnd> {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'lib'));
  symlinkSync('/usr/lib/uml/modules', join(folder, 'lib/modules'));
  const init = join(folder, 'init');
  writeFileSync(init, script(folder, options, testFile), { mode: 0o755 });
  const boot = ['mem=1536M', 'rootfstype=hostfs', 'rootflags=/', 'rw', `init=${init}`, 'con=null', 'con0=null,fd:1', 'quiet'];
  const { output } = await runProgram('linux.uml', boot, { cwd: folder, timeoutMs: 110_000 });
  try {
    return { code: Number(readFileSync(join(folder, 'code'), 'utf8')), output: readFileSync(join(folder, 'output'), 'utf8') };
  } catch {
    return { code: null, output };
  }
}

/** The mount options that docs/operate/nodes.md requires. */
const mountOptions = process.env.SVC_NFS_OPTIONS ?? 'actimeo=0,lookupcache=positive';

const [here, there] = (process.env.SVC_SHARED_FOLDERS ?? '').split(':');
if (here && there) {
  sharedFilesContract('NFS', () => {
    const folder = mkdtempSync(join(here, 'test-'));
    mkdirSync(join(here, `${basename(folder)}/files`));
    return { here: join(folder, 'files'), there: join(there, basename(folder), 'files') };
  });
} else {
  test('nodes share files over NFS with two clients', { timeout: 120_000 }, async (t) => {
    if (!hasProgram(t, 'linux.uml') || !hasProgram(t, 'rpc.nfsd') || !hasProgram(t, 'modprobe')) return;
    const { code, output } = await runOnNfs(t, fileURLToPath(import.meta.url), mountOptions);
    // User Mode Linux 6.1 cannot start programs on processors with larger registers (AVX-512, AMX).
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
