import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { defaultLinks, defaultTokens, type GroupConfiguration, type LinkOptions, type TokenOptions } from '../../accounts/account.ts';
import { defaultPermissions, type PermissionOptions, Permissions } from '../../accounts/permissions.ts';
import { didYouMean } from '../../lib/nearest-name.ts';
import type { Report } from '../findings.ts';
import { type Config, isFileService, isHttpService } from '../schema/schema.ts';
import { permissionsByGroup } from './lint-accounts.ts';

type Holder = Pick<GroupConfiguration, 'permissions' | 'tokens' | 'links'>;

interface Place {
  path: string[];
  own: Holder;
  permissions: PermissionOptions;
  tokens: TokenOptions;
  links: LinkOptions;
}

/** Finds options of tokens and links that have no effect, and links whose URL visitors cannot reach. */
export function lintGrants(config: Config, report: Report): void {
  const places = listPlaces(config);
  lintLinks(config, places, report);
  for (const place of places) {
    lintOff(place, report);
    lintServicesOfTokens(config, place, report);
  }
  lintCallouts(config, places, report);
  lintOrigins(config, places, report);
}

function listPlaces({ groups, accounts }: Config): Place[] {
  const ofGroups = Object.entries(groups).map(([uuid, group]) => makePlace(['groups', uuid], group, group));
  return [
    ...ofGroups,
    ...Object.entries(accounts).flatMap(([name, account]) => {
      const group = Object.hasOwn(groups, account.group) ? groups[account.group] : undefined;
      return account.tokens || account.links || account.permissions ? [makePlace(['accounts', name], account, group)] : [];
    }),
  ];
}

function makePlace(path: string[], own: Holder, group: Holder | undefined): Place {
  const tokens = own.tokens ?? group?.tokens ?? defaultTokens;
  const links = own.links ?? group?.links ?? defaultLinks;
  return { path, own, permissions: own.permissions ?? group?.permissions ?? defaultPermissions, tokens, links };
}

/**
 * Returns the indexes of the permission lists that contain a keyword. `allow-full-control` does not count, because it does not show that
 * this right in particular is wanted.
 */
function listsWith({ own }: Place, keyword: string): number[] {
  const lists = own.permissions ? [own.permissions.general, ...own.permissions.rules.map(({ permissions }) => permissions)] : [];
  return lists.flatMap((list, index) => (list.includes(keyword) ? [index] : []));
}

function lintOff(place: Place, report: Report): void {
  for (const [option, keyword] of [
    ['tokens', 'allow-create-token'],
    ['links', 'allow-share'],
  ] as const) {
    if (place[option].enabled) continue;
    for (const index of listsWith(place, keyword))
      report.warning('no-effect', [...place.path, 'permissions', index], `${keyword} has no effect: ${option}.enabled is off`);
  }
}

function lintLinks(config: Config, places: readonly Place[], report: Report): void {
  const byGroup = permissionsByGroup(config);
  const hasEndpoint = Object.values(config.authentications).some((method) => method.type === 'http');
  for (const { path, own, permissions, links } of places) {
    if (!own.links || !links.enabled) continue;
    // If only `maximum_days` was set, the default value of `default_days` is not reported.
    if (links.default_days > links.maximum_days && links.default_days !== defaultLinks.default_days)
      report.warning(
        'no-effect',
        [...path, 'links', 'default_days'],
        `links live ${links.maximum_days} days at most (maximum_days), so a default of ${links.default_days} days has no effect`,
      );
    const [kind, id = ''] = path;
    // With an authentication endpoint, the option of a group may still have an effect, because the endpoint may return other permissions.
    const isMeant = kind === 'accounts' || !hasEndpoint;
    const hasOther = kind === 'groups' && byGroup.has(id);
    if (isMeant && !hasOther && !isDeepStrictEqual(links, defaultLinks) && !new Permissions(permissions, '').mayGive('allow-share'))
      report.warning('no-effect', [...path, 'links'], 'has no effect: no permission allows files to be shared (allow-share)');
  }
}

function lintServicesOfTokens({ services }: Config, { path, own }: Place, report: Report): void {
  const named = own.tokens?.services ?? [];
  for (const [index, uuid] of named.entries()) {
    const at = [...path, 'tokens', 'services', index];
    const service = Object.hasOwn(services, uuid) ? services[uuid] : undefined;
    if (!service)
      report.error('unknown-reference', at, `there is no service "${uuid}"`, () => didYouMean(uuid, new Set(Object.keys(services))));
    else if (!isFileService(service)) report.warning('no-effect', at, `the service "${uuid}" of type ${service.type} accepts no tokens`);
    else if (!service.enabled) report.warning('no-effect', at, `the service "${uuid}" is disabled`);
  }
}

/** Finds endpoints that are not asked about tokens, although groups let accounts create tokens or links. */
function lintCallouts({ authentications }: Config, places: readonly Place[], report: Report): void {
  const isMeant = places.some(
    (place) => listsWith(place, 'allow-create-token').length + listsWith(place, 'allow-share').length > 0 && place.path[0] === 'groups',
  );
  for (const [uuid, method] of Object.entries(authentications)) {
    if (method.type !== 'http' || !method.enabled || method.tokens || !isMeant) continue;
    report.warning(
      'tokens-callout',
      ['authentications', uuid, 'tokens'],
      'accounts of this method may create tokens or links, but these never work, because the endpoint is not asked about them',
    );
  }
}

/** Finds services whose links begin with an address that visitors may not be able to reach. */
function lintOrigins({ services }: Config, places: readonly Place[], report: Report): void {
  const sharing = places.filter(({ permissions, links }) => links.enabled && new Permissions(permissions, '').mayGive('allow-share'));
  const isMeant = sharing.some((place) => listsWith(place, 'allow-share').length > 0);
  for (const [uuid, service] of Object.entries(services)) {
    if (!isHttpService(service) || !service.enabled || service.public_url !== '' || service.accepted_origins.length > 0) continue;
    const isProxied = service.client_forwarded_header !== '' && sharing.length > 0;
    const isOpen = isMeant && isIP(service.address) > 0 && !/^(127\.|::1$)/.test(service.address);
    if (isProxied || isOpen)
      report.warning(
        'links-origin',
        ['services', uuid],
        `links begin with the address to which a request came${isProxied ? '; behind a proxy, visitors use another address' : ''}: set public_url or accepted_origins`,
      );
  }
}
