import type { Grant } from './grant.ts';

/** The paths of a grant as replies and events show them: one, a list, or nothing for all. */
export function shownPaths({ paths }: Pick<Grant, 'paths'>): string | readonly string[] | undefined {
  return paths?.length === 1 ? paths[0] : paths;
}

/** A token in lists (docs/spec/tokens.md#making-one); times in ISO 8601. */
export function shownToken(grant: Grant) {
  const { id, name, permissions, createdMs, notBeforeMs, expiresMs, addresses, services, used } = grant;
  return {
    id,
    name,
    path: shownPaths(grant),
    permissions,
    created: isoTime(createdMs),
    not_before: notBeforeMs === undefined ? undefined : isoTime(notBeforeMs),
    expires: isoTime(expiresMs),
    addresses,
    services,
    last_used: used && isoTime(used.atMs),
    last_address: used?.address,
  };
}

/** A token or link as operators list it. */
export function shownGrant(grant: Grant) {
  const { kind, account, madeBy, parent, link, downloads, opened } = grant;
  const ofLink = link && {
    link: link.kind,
    has_password: link.passwordHash !== undefined,
    maximum_downloads: link.maximumDownloads,
    downloads: downloads ?? 0,
    opened: opened ?? 0,
  };
  return { ...shownToken(grant), kind, account: account.name, by: madeBy, parent, ...ofLink };
}
export type ShownGrant = ReturnType<typeof shownGrant>;

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
