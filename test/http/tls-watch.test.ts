import assert from 'node:assert/strict';
import { renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { TlsWatch } from '../../src/certificates/tls-context.ts';
import { silentLog } from '../../src/lib/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryFolder } from '../support/temp.ts';

const silentEvents = { emit: () => ({}) as never };

test('a certificate that becomes a symbolic link to itself changes nothing, and its replacement is used', (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'cert.pem');
  writeFileSync(path, 'first');
  const clock = new ManualClock();
  let renewals = 0;
  const options = { tls_certificate_path: path, tls_key_path: '', tls_client_ca_path: '' };
  const service = { options, component: { uuid: 'web', type: 'https', name: 'web' }, events: silentEvents, clock, log: silentLog };
  const watch = new TlsWatch(
    () => service,
    () => renewals++,
  );
  t.after(() => watch.cancel());
  unlinkSync(path);
  symlinkSync('cert.pem', path);
  clock.advance(60_000);
  assert.equal(renewals, 0);
  writeFileSync(`${path}.new`, 'second');
  renameSync(`${path}.new`, path);
  clock.advance(60_000);
  assert.equal(renewals, 1);
});
