import type { HttpServiceOptions } from '../../http/options.ts';
import type { SshServiceOptions } from '../../ssh/options.ts';
import type { Config } from './schema.ts';

type Service = Config['services'][string];

/** Whether a service gives files over HTTP or HTTPS. */
export function isHttpService(service: Service): service is HttpServiceOptions {
  return service.type === 'http' || service.type === 'https';
}

/** Whether a service gives files, by whatever protocol. */
export function isFileService(service: Service): service is HttpServiceOptions | SshServiceOptions {
  return service.type !== 'monitor' && service.type !== 'console';
}
