import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownMember } from '../../lib/json.ts';
import { algorithmFaults } from '../../ssh/algorithms.ts';
import type { Draft } from './draft.ts';
import { type Block, type Directive, matchesPattern } from './sshd-config.ts';

/**
 * Keywords for features that svc does not have, such as shells, forwarding, other ways to log in, and logging to syslog. They are
 * ignored without a note.
 */
const withoutCounterpart =
  /^(?:acceptenv|addressfamily|agentforwarding|allow(?:agent|stream)?local?forwarding|allow\w*forwarding|authorizedprincipals\w*|canonical\w*|casignaturealgorithms|compression\w*|debianbanner|disableforwarding|exposeauthinfo|fingerprinthash|gatewayports|gssapi\w*|hostbased\w*|hostkeyalgorithms|ignorerhosts|ignoreuserknownhosts|ipqos|kerberos\w*|keyregenerationinterval|loglevel|logverbose|maxsessions|modulifile|permit(?:emptypasswords|listen|open|rootlogin|tty|tunnel|userenvironment|userrc)|pidfile|print\w+|protocol|pubkeyauthoptions|rdomain|rhosts\w*|rsaauthentication|dsaauthentication|securitykeyprovider|serverkeybits|setenv|streamlocal\w+|strictmodes|syslogfacility|tcpkeepalive|trustedusercakeys|usedns|uselogin|useprivilegeseparation|versionaddendum|x11\w*|xauthlocation)$/;

const ofAccounts =
  /^(?:(?:allow|deny)(?:users|groups)|authenticationmethods|authorizedkeysfile|challengeresponseauthentication|chrootdirectory|forcecommand|kbdinteractiveauthentication|passwordauthentication|pubkeyauthentication|pubkeyacceptedalgorithms|pubkeyacceptedkeytypes|requiredrsasize|revokedkeys|subsystem)$/;

/** Advice for keywords that have no direct counterpart in svc. */
const remedies: Readonly<Record<string, string>> = {
  authorizedkeyscommand: 'svc runs no commands: list the keys, or write an authentication callout. No keys of the command are imported.',
  authorizedkeyscommanduser: 'See AuthorizedKeysCommand.',
  channeltimeout: 'Set idle_connection_timeout of the service.',
  clientalivecountmax: 'svc ends a connection after three unanswered keep-alive requests (keep_alive_interval).',
  hostcertificate: 'svc shows host keys without certificates: clients need the keys.',
  hostkeyagent: 'svc reads host keys from files.',
  maxstartups: 'Set maximum_unauthenticated_connections of the service.',
  persourcemaxstartups: 'Set maximum_unauthenticated_connections_per_address of the service.',
  persourcenetblocksize: 'svc counts each IPv4 address, and each /64 network of IPv6, by itself.',
  persourcepenalties: 'Set server.security_policy.',
  rekeylimit: 'Set rekey_bytes and rekey_seconds of the service.',
  unusedconnectiontimeout: 'Set idle_connection_timeout of the service.',
  usepam: 'svc does not know what PAM refuses or asks for (pam_access, second factors, LDAP): write an authentication callout.',
};

/** Creates the services from the lines before the first `Match`, and notes about lines that are not carried over. */
export function importSshService(draft: Draft, blocks: readonly Block[], root: string, port: number | undefined): void {
  const service: Record<string, unknown> = { type: 'ssh' };
  const seen = new Set<string>();
  const ports: string[] = [];
  const addresses: string[] = [];
  const tell = ({ file, line }: Directive, what: string, instead: string) => draft.notes.push({ file, line, what, instead });
  const lists: Directive[] = [];
  for (const [index, { criteria, directives }] of blocks.entries()) {
    for (const directive of directives) {
      const { keyword, name, args } = directive;
      const [value = ''] = args;
      const isRepeated = seen.has(keyword) && !/^(?:port|listenaddress|hostkey|subsystem|acceptenv|setenv|allow\w+|deny\w+)$/.test(keyword);
      if (ofAccounts.test(keyword) || withoutCounterpart.test(keyword)) continue;
      if (index > 0 && criteria.length > 0) {
        tell(
          directive,
          `${name} under Match is not carried over`,
          ownMember(remedies, keyword) ?? 'In svc, this applies to the whole service.',
        );
        continue;
      }
      if (isRepeated) continue;
      seen.add(keyword);
      if (keyword === 'port') ports.push(value);
      else if (keyword === 'listenaddress' && /^[\w.:[\]*%-]+$/.test(value)) addresses.push(value);
      else if (keyword === 'hostkey') tell(directive, `${name} ${value} is not read`, `Run: svc ssh host-key import ${value}`);
      else if (keyword === 'maxauthtries' && inRange(value, 1, 100)) service.max_auth_tries = Number(value);
      else if (keyword === 'logingracetime' && inRange(String(seconds(value)), 1, 3600)) service.login_grace_time = seconds(value);
      else if (keyword === 'clientaliveinterval' && inRange(String(seconds(value)), 1, 3600)) service.keep_alive_interval = seconds(value);
      else if (keyword === 'banner' && value !== 'none') setBanner(service, directive, root, tell);
      else if (/^(?:ciphers|kexalgorithms|macs)$/.test(keyword)) lists.push(directive);
      else if (keyword !== 'banner')
        tell(directive, `${name} is not carried over`, ownMember(remedies, keyword) ?? 'Check its effect before you switch.');
    }
  }
  setAlgorithms(service, lists, tell);
  setAddresses(draft, service, { ports, addresses, port });
}

function inRange(text: string, low: number, high: number): boolean {
  return /^\d+$/.test(text) && Number(text) >= low && Number(text) <= high;
}

/** Converts a time of sshd_config(5), such as `90` or `1m30s`, to seconds. */
function seconds(text: string): number {
  if (!/^(?:\d+[smhdw]?)+$/i.test(text)) return Number.NaN;
  const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
  return [...text.matchAll(/(\d+)([smhdw]?)/gi)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (units[unit?.toLowerCase() || 's'] ?? 1),
    0,
  );
}

type Tell = (directive: Directive, what: string, instead: string) => void;

function setBanner(service: Record<string, unknown>, directive: Directive, root: string, tell: Tell): void {
  try {
    const text = readFileSync(join(root, directive.args[0] ?? ''), 'utf8').trim();
    if (text.includes('${') || text.length > 10_000) throw new Error('it contains "${", or has more than 10,000 characters');
    service.before_login_message = text;
  } catch (error) {
    tell(directive, `the banner cannot be imported: ${(error as Error).message}`, 'Copy its text to before_login_message.');
  }
}

/** Imports the algorithms that svc knows. Lists that begin with `+`, `-` or `^` are not imported. */
function setAlgorithms(service: Record<string, unknown>, lists: readonly Directive[], tell: Tell): void {
  const names: string[] = [];
  for (const directive of lists) {
    const given = (directive.args[0] ?? '').split(',').filter(Boolean);
    const isChange = /^[+^-]/.test(given[0] ?? '');
    const known = isChange ? [] : given.filter((name) => algorithmFaults([name]).length === 0);
    const missing = given.filter((name) => !known.includes(name));
    names.push(...known);
    if (isChange)
      tell(
        directive,
        `${directive.name} changes the default of OpenSSH`,
        'svc offers its own default, the list "secure": set ssh_cipher_list.',
      );
    else if (known.length === 0)
      tell(
        directive,
        `svc has none of the algorithms of ${directive.name}`,
        'svc offers the algorithms of "secure": clients must support one of them.',
      );
    else if (missing.length > 0) tell(directive, `svc does not have ${missing.join(', ')}`, 'The others are in ssh_cipher_list.');
  }
  if (names.length > 0) service.ssh_cipher_list = names;
}

function setAddresses(
  draft: Draft,
  service: Record<string, unknown>,
  given: { ports: string[]; addresses: string[]; port: number | undefined },
): void {
  const ports = given.port === undefined ? given.ports.filter((port) => inRange(port, 1, 65_535)).map(Number) : [given.port];
  const usual = ports.length > 0 ? ports : [22];
  const places = given.addresses.flatMap((text) => {
    const [, bracketed, plain, own] = /^(?:\[([^\]]+)\]|([^:]+|[^:]*:[^:]*:.*?))(?::(\d+))?$/.exec(text) ?? [];
    const address = bracketed ?? plain ?? text;
    return (own !== undefined && given.port === undefined ? [Number(own)] : usual).map((port) => ({
      address: address === '*' ? '0.0.0.0' : address,
      port,
    }));
  });
  // `::` means all addresses of IPv4 and IPv6.
  const all = places.length > 0 ? places : usual.map((port) => ({ address: '::', port }));
  const unique = [...new Map(all.map((place) => [`${place.address} ${place.port}`, place])).values()].slice(0, 16);
  for (const [index, place] of unique.entries()) draft.services[index === 0 ? 'sftp' : `sftp${index + 1}`] = { ...service, ...place };
}

/**
 * Finds the keys that no account gets. These are keys in a file of RevokedKeys, and keys whose type a list of the old server
 * (PubkeyAcceptedAlgorithms) does not accept. If a file of RevokedKeys cannot be read, no account gets any key.
 *
 * @returns a function that returns whether a key is accepted
 */
export function refusedKeys(draft: Draft, blocks: readonly Block[], root: string): (type: string, blob: string) => boolean {
  const all = (pattern: RegExp) => blocks.flatMap((block) => block.directives.filter(({ keyword }) => pattern.test(keyword)));
  const revoked = new Set<string>();
  let isUnknown = false;
  for (const { file, line, args } of all(/^revokedkeys$/)) {
    if (args[0] === 'none') continue;
    try {
      const text = readFileSync(join(root, args[0] ?? ''), 'latin1');
      if (text.startsWith('SSHKRL')) throw new Error('it is a binary list');
      for (const [, blob = ''] of text.matchAll(/^[^#\n]*?\b(AAAA[A-Za-z0-9+/]+={0,2})/gm)) revoked.add(blob);
    } catch (error) {
      isUnknown = true;
      draft.notes.push({
        file,
        line,
        what: `RevokedKeys cannot be read: ${(error as Error).message}`,
        instead: 'No keys are carried over: add those that are not revoked.',
      });
    }
  }
  const lists = all(/^pubkeyaccepted(?:algorithms|keytypes)$/);
  return (type, blob) => !isUnknown && !revoked.has(blob) && lists.every(({ args }) => takesType(args[0] ?? '', type));
}

/** Returns whether a list accepts keys of a type. RSA keys can sign with several algorithms, of which svc accepts those with SHA-2. */
function takesType(list: string, type: string): boolean {
  const names = type === 'ssh-rsa' ? ['rsa-sha2-256', 'rsa-sha2-512'] : [type];
  const patterns = list.replace(/^[+^-]/, '').split(',');
  const isListed = names.some((name) => patterns.some((pattern) => matchesPattern(name, pattern)));
  return list.startsWith('-') ? !isListed : /^[+^]/.test(list) || isListed;
}
