import type { HttpServiceOptions } from '../../http/options.ts';
import type { SshServiceOptions } from '../../ssh/options.ts';
import type { Config } from './schema.ts';

type Service = Config['services'][string];

/** Whether a service gives files over HTTP or HTTPS. */
export function isHttpService(service: Service): service is HttpServiceOptions {
  return service.type === 'http' || service.type === 'https';
}

/** Whether a service of the configuration takes WebDAV locks, which then bind every service. */
export function takesLocks({ services }: Config): boolean {
  return Object.values(services).some((service) => isHttpService(service) && service.webdav_compatibility);
}

/** Whether a service gives files, by whatever protocol. */
export function isFileService(service: Service): service is HttpServiceOptions | SshServiceOptions {
  return service.type !== 'monitor' && service.type !== 'console';
}
