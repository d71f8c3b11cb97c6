import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceName } from '../../src/web/console/accounts/device.ts';

test('the device of a session is the program and the system, or the program and its version; other texts are cut', () => {
  const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';
  const cases = [
    [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/131.0.0.0 Safari/537.36`, 'Chrome 131 · Linux'],
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox 133 · Windows'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`, 'Edge 131 · Windows'],
    [`Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) ${webkit} Version/17.5 Mobile/15E148 Safari/604.1`, 'Safari · iPhone'],
    [`Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) ${webkit} CriOS/131.0 Mobile/15E148 Safari/604.1`, 'Chrome 131 · iPad'],
    [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Version/18.1 Safari/605.1.15`, 'Safari · macOS'],
    [`Mozilla/5.0 (Linux; Android 14) ${webkit} Chrome/131.0.0.0 Mobile Safari/537.36`, 'Chrome 131 · Android'],
    ['curl/8.5.0', 'curl 8.5'],
    ['rclone/v1.60.1-DEV', 'rclone 1.60'],
    ['WinSCP', 'WinSCP'],
    ['SSH-2.0-WinSCP_release_6.3.3', 'WinSCP 6.3'],
    ['OpenSSH_9.7p1 Debian-7', 'OpenSSH 9.7'],
    ['libssh2_1.11.0', 'libssh2 1.11'],
    ['Microsoft-WebDAV-MiniRedir/10.0.19045', 'Microsoft-WebDAV-MiniRedir 10.0'],
    ['Cyberduck/9.0.0.41777 (Windows 10/10.0) (amd64)', 'Cyberduck 9.0'],
    ['Mozilla/5.0 (compatible)', 'Mozilla/5.0 (compatible)'],
    ['', ''],
    [`${'x'.repeat(200)}/1.0`, `${'x'.repeat(39)}…`],
    ['<b>'.repeat(20), `${'<b>'.repeat(13)}…`],
  ] as const;
  for (const [client, device] of cases) assert.equal(deviceName(client), device);
});
