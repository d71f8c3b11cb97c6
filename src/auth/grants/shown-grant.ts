import type { Grant } from './grant.ts';

/** Returns the paths of a grant for replies and events: one path, or a list; undefined if the grant is not limited to paths. */
export function shownPaths({ paths }: Pick<Grant, 'paths'>): string | readonly string[] | undefined {
  return paths?.length === 1 ? paths[0] : paths;
}

/**
 * Returns the JSON of a token (docs/spec/tokens.md#creating-tokens). Times are in ISO 8601. A value that was not chosen, or is not set
 * yet, is `null`.
 */
export function shownToken(grant: Grant) {
  const { id, name, permissions, createdMs, notBeforeMs, expiresMs, addresses, services, used } = grant;
  return {
    id,
    name,
    path: shownPaths(grant) ?? null,
    permissions: permissions ?? null,
    created: isoTime(createdMs),
    not_before: notBeforeMs === undefined ? null : isoTime(notBeforeMs),
    expires: isoTime(expiresMs),
    addresses: addresses ?? null,
    services: services ?? null,
    last_used: used ? isoTime(used.atMs) : null,
    last_address: used?.address ?? null,
  };
}

/** Returns the JSON of a link for its creator. */
export function shownLink(grant: Grant) {
  const { id, link, paths, createdMs, expiresMs, name, downloads = 0, used } = grant;
  return {
    id,
    kind: link?.kind,
    path: paths?.[0],
    note: name,
    created: isoTime(createdMs),
    expires: isoTime(expiresMs),
    has_password: link?.passwordHash !== undefined,
    downloads,
    maximum_downloads: link?.maximumDownloads ?? null,
    last_used: used ? isoTime(used.atMs) : null,
    last_address: used?.address ?? null,
    copyable: false,
  };
}

/** Returns the JSON of a token or link for operators. */
export function shownGrant(grant: Grant) {
  const { kind, account, madeBy, parent, link, downloads, opened } = grant;
  const ofLink = link && {
    link: link.kind,
    has_password: link.passwordHash !== undefined,
    maximum_downloads: link.maximumDownloads ?? null,
    downloads: downloads ?? 0,
    opened: opened ?? 0,
  };
  return { ...shownToken(grant), kind, account: account.name, by: madeBy, parent: parent ?? null, ...ofLink };
}
export type ShownGrant = ReturnType<typeof shownGrant>;

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
