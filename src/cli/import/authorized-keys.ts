import { keyLineFault } from '../../ssh/public-keys.ts';
import type { Draft, DraftAccount } from './draft.ts';
import { splitWords } from './sshd-config.ts';

/** Options that concern only features which svc does not have, such as terminals and forwarding. They do not prevent the import. */
const harmless =
  /^(?:restrict|pty|no-pty|no-agent-forwarding|agent-forwarding|no-port-forwarding|port-forwarding|no-user-rc|user-rc|no-x11-forwarding|x11-forwarding|no-touch-required|environment|permitopen|permitlisten|tunnel)$/i;

/** Splits the options before a key at commas outside quotes. */
function splitOptions(text: string): string[] {
  return text.match(/(?:"(?:\\.|[^"\\])*"|[^,"])+/g) ?? [];
}

/**
 * Imports the keys of authorized_keys(5). A key with a restriction, such as addresses, an expiry, or a command other than
 * internal-sftp, is not imported.
 *
 * @param isAccepted returns whether the old server accepts a key
 */
export function takeKeys(
  draft: Draft,
  account: DraftAccount,
  source: { file: string; text: string },
  isAccepted: (type: string, blob: string) => boolean,
): void {
  for (const [index, content] of source.text.split(/\r?\n/).entries()) {
    const row = content.trim();
    if (row === '' || row.startsWith('#')) continue;
    const tell = (what: string, instead: string) =>
      draft.notes.push({ file: source.file, line: index + 1, account: account.name, what, instead });
    const [, options = '', key = ''] =
      /^((?:"(?:\\.|[^"\\])*"|[^\s"])+\s+)??((?:ssh-|ecdsa-|sk-)\S+\s+[A-Za-z0-9+/]+={0,2}(?:\s.*)?)$/.exec(row) ?? [];
    if (key === '') {
      tell('this is not a public key', 'Ask for the key again.');
      continue;
    }
    const [type = '', blob = '', ...comment] = key.split(/\s+/);
    const [stricter] = splitOptions(options.trim()).filter((option) => !isHarmless(option));
    if (stricter !== undefined)
      tell(`the key has the option "${optionName(stricter)}" and is not carried over`, remedyFor(optionName(stricter)));
    else if (!isAccepted(type, blob))
      tell(`the old server does not accept this key (${type})`, 'Leave the key out, or ask for another key.');
    else {
      const line = [type, blob, ...comment].join(' ');
      const fault = keyLineFault(line);
      if (fault === undefined) account.sshKeys.push(line);
      else tell(`the key ${fault}`, 'Ask for another key.');
    }
  }
}

function optionName(option: string): string {
  return option.split('=', 1)[0] ?? '';
}

function isHarmless(option: string): boolean {
  if (/^command=/i.test(option))
    return /^internal-sftp(?:$|\s)/.test(splitWords(option.slice('command='.length))?.[0] ?? '') && !/\s-[RPp]/.test(option);
  return harmless.test(optionName(option));
}

function remedyFor(option: string): string {
  if (/^from$/i.test(option)) return 'Keep other addresses out with a firewall, and add the key.';
  if (/^command$/i.test(option)) return 'svc runs no commands: give the key its own account with permissions, or leave it out.';
  if (/^expiry-time$/i.test(option)) return 'Add the key, and remove it on the day on which it expires.';
  if (/^cert-authority|^principals/i.test(option)) return 'svc does not accept OpenSSH certificates: add the keys of the users.';
  return 'Check what the option forbids, and add the key if svc may allow it.';
}
