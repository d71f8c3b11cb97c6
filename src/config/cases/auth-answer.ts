import { type Account, AccountError, effectiveAccount, type GroupConfiguration } from '../../accounts/account.ts';
import type { AuthResult } from '../../auth/auth-method.ts';

/** The answer of an authentication method, and its effect on the login. `--json` prints the members with these names. */
export interface AuthAnswer {
  outcome: AuthResult['outcome'];
  reason: string;
  /** The account with the options of its group applied. */
  account?: Record<string, unknown>;
  /** Problems of the account configuration in a 200 reply. */
  problems?: unknown;
  /** Body of a 403 reply. */
  failure?: unknown;
}

/**
 * Describes the answer of a method: its outcome, and the effective account.
 *
 * @param groups all groups by UUID; undefined if there is no configuration. Then, the account is described without the options of its group
 */
export function describeAnswer(
  groups: ReadonlyMap<string, GroupConfiguration> | undefined,
  username: string,
  result: AuthResult,
  method: { uuid: string; type: string },
): AuthAnswer {
  switch (result.outcome) {
    case 'next':
      return { outcome: result.outcome, reason: result.reason };
    case 'rejected':
      return {
        outcome: result.outcome,
        reason: result.reason,
        ...(result.configurationFault && { problems: result.configurationFault.details }),
        ...(result.response !== undefined && { failure: result.response }),
      };
    case 'authenticated':
      try {
        const account = groups ? shownAccount(effectiveAccount(username, result.account, groups, method)) : { ...result.account };
        return { outcome: result.outcome, reason: 'The credentials are accepted.', account };
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return { outcome: 'rejected', reason: error.message };
      }
    default:
      return result satisfies never;
  }
}

function shownAccount(account: Account): Record<string, unknown> {
  const { general, rules } = account.permissions.options;
  return {
    name: account.name,
    uuid: account.uuid,
    email: account.email,
    group: account.groupUuid,
    home_folder_path: account.homeFolderPath,
    create_home_folder: account.createHomeFolder,
    home_folder_structure: account.homeFolderStructure,
    virtual_folders: account.virtualFolders.map((folder) => [folder.path, folder.realPath]),
    permissions: [general, ...rules.map((rule) => [rule.expression, ...rule.permissions])],
  };
}
