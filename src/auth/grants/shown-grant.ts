import type { Grant } from './grant.ts';

/** The paths of a grant as replies and events show them: one, a list, or nothing for all. */
export function shownPaths({ paths }: Pick<Grant, 'paths'>): string | readonly string[] | undefined {
  return paths?.length === 1 ? paths[0] : paths;
}

/** A token in lists (docs/spec/tokens.md#making-one); times in ISO 8601, `null` for what was not chosen and what was not yet. */
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

/** Returns the JSON that describes a link to its creator. */
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

/** A token or link as operators list it. */
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
