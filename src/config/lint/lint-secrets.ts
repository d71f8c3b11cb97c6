import { constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { accountsFilePath } from '../../auth/options.ts';
import { isObject } from '../../lib/json.ts';
import type { Report } from '../findings.ts';
import type { LoadedConfig } from '../reading/load.ts';
import { isCredentialHeader } from './lint-remotes.ts';

/** Finds files with secrets that every user of the machine can read: keys, files of `${file:…}`, accounts files and the configuration. */
export function lintSecrets({ config, file, source }: LoadedConfig, report: Report): void {
  const check = (path: PropertyKey[], target: string, what: string) => {
    if (isReadableByAll(target))
      report.warning('secret-readable', path, `${target} holds ${what} and can be read by every user`, `chmod o-r ${target}`);
  };
  for (const [uuid, service] of Object.entries(config.services)) {
    if ((service.type === 'https' || service.type === 'console') && service.enabled && service.tls_key_path)
      check(['services', uuid, 'tls_key_path'], service.tls_key_path, 'a private key');
    if (service.type === 'ssh' && service.enabled)
      for (const [index, path] of service.host_key_paths.entries())
        check(['services', uuid, 'host_key_paths', index], path, 'a private key');
  }
  for (const [uuid, method] of Object.entries(config.authentications)) {
    if (method.type !== 'application' || !method.enabled) continue;
    check(['authentications', uuid], accountsFilePath(method, config.server.data_folder_path), 'password hashes');
  }
  if (!source) return;
  const seen = new Set<string>();
  for (const { path, text } of findTexts(source.value)) {
    for (const [, name = ''] of text.matchAll(/\$\{file:([^}]*)\}/g)) {
      const target = resolve(dirname(source.file), name);
      if (!seen.has(target)) check(path, target, 'a secret');
      seen.add(target);
    }
  }
  const secret = findTexts(source.value).find(({ path, text }) => isSecretOption(path, text));
  if (secret) check(secret.path, file, 'secrets');
}

function isReadableByAll(file: string): boolean {
  try {
    const stats = statSync(file);
    return process.platform !== 'win32' && stats.isFile() && (stats.mode & constants.S_IROTH) !== 0;
  } catch {
    // The file does not exist, or this user cannot read its folder.
    return false;
  }
}

/** Whether a text is a secret in the configuration file itself, not a reference such as `${env:…}` or `${file:…}`. */
function isSecretOption(path: readonly PropertyKey[], text: string): boolean {
  const [section, name, option, member] = path;
  if (text === '' || text.includes('${env:') || text.includes('${file:')) return false;
  if (section === 'server' && name === 'state')
    return option === 'secret' || option === 'sentinel_password' || (option === 'url' && /:[^@/]+@/.test(text));
  if (section === 'services') return (option === 'administrators' && path[4] === 'password') || path.at(-1) === 'hmac_secret';
  if (section !== 'authentications' && section !== 'event_handlers' && section !== 'accounts') return false;
  if (option === 'password' || option === 'signing_secret' || option === 'secret_access_key') return true;
  if (option !== 'headers') return false;
  return typeof member === 'string'
    ? isCredentialHeader(member)
    : text.split('\n').some((line) => isCredentialHeader(line.split(':', 1)[0] ?? ''));
}

function findTexts(value: unknown, path: PropertyKey[] = []): { path: PropertyKey[]; text: string }[] {
  if (typeof value === 'string' || typeof value === 'number') return [{ path, text: String(value) }];
  if (Array.isArray(value)) return value.flatMap((item, index) => findTexts(item, [...path, index]));
  if (isObject(value)) return Object.entries(value).flatMap(([key, item]) => findTexts(item, [...path, key]));
  return [];
}
