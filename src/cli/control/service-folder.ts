import { resolve } from 'node:path';
import { requireConfigFile } from '../../config/check.ts';
import { examineConfig, findConfigFile } from '../../config/reading/load.ts';
import { readSource } from '../../config/reading/source.ts';
import type { Config } from '../../config/schema/schema.ts';
import { ServiceError } from '../../lib/errors.ts';

/** The options with which a command finds a running service. */
export interface ServiceOptions {
  config?: string;
  dataFolder?: string;
}

/** The data folder that `svc serve` uses without a configuration. */
export const defaultDataFolder = './svc-data';

/**
 * Reads the valid parts of a configuration, even if the service would refuse it.
 *
 * @throws ServiceError `bad-request` if there is no configuration, or if too little of it is valid
 */
export async function roughConfig(options: Pick<ServiceOptions, 'config'>): Promise<{ file: string; config: Config }> {
  const file = await requireConfigFile({ file: options.config, cwd: process.cwd(), env: process.env });
  const { config } = examineConfig(readSource(file), process.env);
  if (!config) throw new ServiceError('bad-request', `Too little of ${file} is valid to find the service; see "svc validate".`);
  return { file, config };
}

/**
 * Returns the data folder of a service. It comes from `--data-folder` or the configuration; the default is `defaultDataFolder`.
 *
 * @throws the errors of `roughConfig`
 */
export async function serviceFolder(options: ServiceOptions): Promise<string> {
  if (options.dataFolder !== undefined) return resolve(options.dataFolder);
  const isConfigured = await findConfigFile({ file: options.config, cwd: process.cwd(), env: process.env });
  return isConfigured ? (await roughConfig(options)).config.server.data_folder_path : resolve(defaultDataFolder);
}
