import type { Account } from './account.ts';
import { Permissions } from './permissions.ts';

/** An account in force as text, for a store outside the process. It holds no secrets. */
export function accountText(account: Account): string {
  return JSON.stringify({ ...account, permissions: account.permissions.options });
}

/** Reads `accountText`. @throws SyntaxError, or ServiceError for permissions that do not parse */
export function accountOfText(text: string): Account {
  const record = JSON.parse(text) as Omit<Account, 'permissions'> & { permissions: Permissions['options'] };
  return {
    ...record,
    homeFolderOwner: record.homeFolderOwner,
    homeFolderGroup: record.homeFolderGroup,
    permissions: new Permissions(record.permissions, record.name),
  };
}
