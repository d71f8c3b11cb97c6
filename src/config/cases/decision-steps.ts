import { type Account, AccountError, effectiveAccount } from '../../accounts/account.ts';
import { AccountsFile } from '../../accounts/accounts-file.ts';
import { withDefaultGroup } from '../../accounts/options.ts';
import { isUserName } from '../../accounts/user-names.ts';
import { accountsFilePath, methodsInForce } from '../../auth/options.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { silentLog } from '../../lib/log.ts';
import type { Decision } from '../report-shapes.ts';
import type { Config } from '../schema/schema.ts';

type StepName = Decision['steps'][number]['step'];

/** Thrown to end a decision with a refusal. */
export class Refused extends Error {
  readonly code: ErrorCode;
  readonly step: StepName;

  constructor(step: StepName, code: ErrorCode, message: string) {
    super(message);
    this.step = step;
    this.code = code;
  }
}

/** Adds a successful step to the decision. */
export type AddStep = (step: StepName, text: string) => void;

/**
 * Finds the effective account of a user: the account with the options of its group applied.
 *
 * @throws Refused if the user cannot log in
 */
export function accountInForce(config: Config, question: { user: string; group?: string | undefined }, addStep: AddStep): Account {
  const groups = withDefaultGroup(config.groups);
  if (!isUserName(question.user))
    throw new Refused('account', 'unauthorized', 'this is not a valid account name, so no authentication method is asked about it');
  const known = localAccount(config, question.user);
  const anonymous = Object.entries(config.authentications).find(([, method]) => method.type === 'anonymous' && method.enabled)?.[1];
  if (known && !known.account.enabled) throw new Refused('account', 'unauthorized', `the account "${question.user}" is disabled`);
  if (known) addStep('account', `account "${question.user}" of ${known.where}`);
  else if (question.user === 'anonymous' && anonymous) addStep('account', 'requests without credentials');
  else if (Object.values(config.authentications).some((method) => method.type === 'http' && method.enabled))
    addStep('account', `"${question.user}" is not a local account; assumed: the authentication endpoint accepts it with 204`);
  else throw new Refused('account', 'unauthorized', `no authentication method knows the account "${question.user}"`);
  const ofMethod = anonymous?.type === 'anonymous' && question.user === 'anonymous' && !known ? { group: anonymous.group } : {};
  const configuration = {
    ...known?.account.configuration,
    ...ofMethod,
    ...(question.group === undefined ? {} : { group: question.group }),
  };
  try {
    const account = effectiveAccount(question.user, configuration, groups, { uuid: 'svc-explain', type: 'application' });
    addStep('group', `group "${account.groupUuid}"${configuration.group ? '' : ', the default'}`);
    return account;
  } catch (error) {
    if (!(error instanceof AccountError)) throw error;
    throw new Refused(error.problem.startsWith('group') ? 'group' : 'home', 'unauthorized', error.message);
  }
}

/** The accounts files of a configuration, by path. They are cached, because many cases may use the same large file. */
const accountsFiles = new WeakMap<Config, Map<string, AccountsFile>>();

function openAccountsFile(config: Config, path: string): AccountsFile {
  const files = accountsFiles.get(config) ?? new Map<string, AccountsFile>();
  accountsFiles.set(config, files);
  const file = files.get(path) ?? new AccountsFile(path, config.accounts, systemClock, silentLog);
  files.set(path, file);
  return file;
}

/** Finds an account of the configuration or of an accounts file. */
export function localAccount(config: Config, name: string) {
  for (const [uuid, method] of methodsInForce(config.authentications)) {
    if (method.type !== 'application' || !method.enabled) continue;
    const file = accountsFilePath(method, config.server.data_folder_path);
    const account = openAccountsFile(config, file).find(name);
    if (account) return { account, method: uuid, where: Object.hasOwn(config.accounts, name) ? 'the configuration' : file };
  }
  return undefined;
}
