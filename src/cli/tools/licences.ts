import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

/**
 * The licences of svc and of all that is inside the running program: the comment at the end of the script, or what the binary keeps.
 */
export function licences(): string {
  if (isSea()) return getAsset('licences', 'utf8').trimEnd();
  const script = readFileSync(process.argv[1] ?? '', 'utf8');
  return script.slice(script.lastIndexOf('\n/*\n') + 4, script.lastIndexOf('\n*/'));
}
