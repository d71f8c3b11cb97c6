import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Config } from '../../config/schema/schema.ts';
import type { EventComponent } from '../../events/event.ts';
import { readTlsContext, type TlsContext } from '../../http/connection/tls-context.ts';
import { ServiceError } from '../../lib/errors.ts';
import { authority } from '../../lib/listen.ts';
import type { HostKey } from '../../ssh/host-keys.ts';
import { componentOf, startData } from '../listeners.ts';
import { type FileServiceOptions, fileServices } from '../parts.ts';

/**
 * Where the workers listen, and with which certificates: found out once, by the primary process, so that a worker that takes the place of
 * another is found under the same port, and needs no right to read a key.
 */
export class FleetAddresses {
  /** TLS files of the services, by UUID. */
  readonly tls: Record<string, TlsContext> = {};
  /** Host keys of SSH services, by their paths. */
  readonly hostKeys = new Map<string, HostKey>();
  readonly #ports = new Map<string, number>();

  /** Chooses a free port for each service that may have any. @throws ServiceError `unavailable` */
  async choosePorts(config: Config): Promise<void> {
    for (const uuid of fileServices(config)) {
      const { port, address } = optionsOf(config, uuid);
      if (port !== 0) this.#ports.delete(uuid);
      else if (!this.#ports.has(uuid)) this.#ports.set(uuid, await chosenPort(address));
    }
  }

  /** Another port is to be chosen for a service: somebody took the one before. */
  giveUp(uuid: string): void {
    this.#ports.delete(uuid);
  }

  /** Reads the host keys of the services, and makes those that are missing. @throws ServiceError `unavailable` */
  async readHostKeys(config: Config, dataFolderPath: string): Promise<void> {
    const { hostKeysOf } = await import('../../ssh/host-keys.ts');
    for (const uuid of fileServices(config)) {
      const options = optionsOf(config, uuid);
      if (options.type === 'ssh') await hostKeysOf(options.host_key_paths, dataFolderPath, this.hostKeys);
    }
  }

  /** Reads the TLS files; one that cannot be read any more stays as it was. @throws ServiceError `unavailable` for one that never was */
  readTls(config: Config): void {
    for (const uuid of fileServices(config)) {
      const options = optionsOf(config, uuid);
      if (options.type !== 'https') continue;
      try {
        this.tls[uuid] = readTlsContext(options);
      } catch (error) {
        if (!this.tls[uuid]) throw error;
      }
    }
  }

  /** The configuration with the chosen ports, for the workers. */
  inConfig(config: Config): Config {
    const services = { ...config.services };
    for (const uuid of fileServices(config)) services[uuid] = this.#withPort(uuid, config) as never;
    return { ...config, services };
  }

  /** What events of a service say of it. */
  described(uuid: string, config: Config): [Record<string, unknown>, EventComponent] {
    const options = this.#withPort(uuid, config);
    return [startData(uuid, options), componentOf(uuid, options)];
  }

  /** The URLs of all services. */
  listening(config: Config): { uuid: string; name: string; url: string }[] {
    return fileServices(config).map((uuid) => {
      const options = this.#withPort(uuid, config);
      const scheme = options.type === 'ssh' ? 'sftp' : options.type;
      return { uuid, name: componentOf(uuid, options).name, url: `${scheme}://${authority(options.address, options.port)}` };
    });
  }

  #withPort(uuid: string, config: Config): FileServiceOptions {
    const options = optionsOf(config, uuid);
    return { ...options, port: this.#ports.get(uuid) ?? options.port };
  }
}

/** Whether a service listens where it did before. */
export function isSameAddress(before: Config, config: Config, uuid: string): boolean {
  const old = before.services[uuid] as FileServiceOptions | undefined;
  const { type, address, port } = optionsOf(config, uuid);
  return old?.enabled === true && old.type === type && old.address === address && old.port === port;
}

function optionsOf(config: Config, uuid: string): FileServiceOptions {
  return config.services[uuid] as FileServiceOptions;
}

/** A port that is free at present. @throws ServiceError `unavailable` when the address is not one of this machine */
async function chosenPort(address: string): Promise<number> {
  try {
    const server = createServer().listen({ host: address, port: 0 });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    return port;
  } catch (error) {
    throw new ServiceError('unavailable', `No port can be had on ${address}: ${(error as Error).message}.`, { cause: error });
  }
}
