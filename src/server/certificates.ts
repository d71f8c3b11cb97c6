import { join } from 'node:path';
import { CertificateKeeper, certificatePath, type KeptService } from '../certificates/certificate-keeper.ts';
import { type CertificateStore, challengeName } from '../certificates/certificate-store.ts';
import type { ConsoleOptions } from '../config/schema/console-options.ts';
import type { Config } from '../config/schema/schema.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { HttpServiceOptions } from '../http/options.ts';
import { ChallengeServer, type ChallengeSources } from '../lib/acme/challenges.ts';
import type { Clock } from '../lib/clock.ts';
import { authority } from '../lib/listen.ts';
import type { Log } from '../lib/log.ts';
import { type Ended, nothingEnded, type PreparedReload, serviceComponent } from './listeners.ts';

type TlsServiceOptions = HttpServiceOptions | ConsoleOptions;

interface Dependencies {
  dataFolderPath: string;
  store: CertificateStore;
  events: Pick<EventDispatcher, 'emit'>;
  clock: Clock;
  log: Log;
}

function certificatesFolder(dataFolderPath: string): string {
  return join(dataFolderPath, 'certificates');
}

/** Returns the enabled services for which svc obtains certificates. */
function keptServices({ services }: Config): (KeptService & { service: TlsServiceOptions })[] {
  return Object.entries(services).flatMap(([uuid, service]) => {
    if (!service.enabled || (service.type !== 'https' && service.type !== 'console') || !service.tls.acme) return [];
    return [{ component: serviceComponent(uuid, service), options: service.tls.acme, service }];
  });
}

/** Returns the configuration with changed paths: services with `tls.acme` use the certificate files that svc keeps for them. */
export function withCertificatePaths(config: Config): Config {
  const services = { ...config.services };
  for (const { component, service } of keptServices(config)) {
    const path = certificatePath(certificatesFolder(config.server.data_folder_path), component.uuid);
    services[component.uuid] = { ...service, tls_certificate_path: path, tls_key_path: path };
  }
  return { ...config, services };
}

/** Obtains and renews certificates, and runs the plain HTTP servers that answer challenges for them. */
export class Certificates {
  readonly #dependencies: Dependencies;
  readonly #keeper: CertificateKeeper;
  readonly #servers = new Map<string, ChallengeServer>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#keeper = new CertificateKeeper({ ...dependencies, folder: certificatesFolder(dependencies.dataFolderPath) });
  }

  /**
   * Creates the certificate files that are missing, and listens where challenges will arrive.
   *
   * @param config configuration of all nodes of this machine, because each of them can order certificates
   * @throws ServiceError `unavailable` if an address cannot be used
   */
  async prepare(config: Config): Promise<PreparedReload> {
    const opened = new Map<string, ChallengeServer>();
    const abort = async () => {
      for (const server of opened.values()) await server.close();
      for (const key of opened.keys()) this.#servers.delete(key);
    };
    this.#keeper.prepare(keptServices(config));
    try {
      for (const [key, address] of challengeAddresses(config)) {
        if (this.#servers.has(key)) continue;
        const server = new ChallengeServer(address, this.#sources(config, key), this.#dependencies.log);
        await server.listen();
        opened.set(key, server);
        this.#servers.set(key, server);
      }
    } catch (error) {
      await abort();
      throw error;
    }
    return { commit: () => this.#begin(config), abort };
  }

  async #begin(config: Config): Promise<Ended> {
    const wanted = challengeAddresses(config);
    for (const [key, server] of [...this.#servers]) {
      if (wanted.has(key)) {
        server.replace(this.#sources(config, key));
        continue;
      }
      this.#servers.delete(key);
      await server.close();
    }
    await this.#keeper.apply(keptServices(config));
    return nothingEnded;
  }

  listening(): { uuid: string; name: string; url: string }[] {
    return [...this.#servers.values()].map(({ url }) => ({ uuid: 'acme', name: 'acme', url }));
  }

  /** Returns a function that finds the key authorization for a TLS challenge of a domain; undefined if no challenge uses TLS. */
  tlsChallenge(config: Config): ((domain: string) => Promise<string | undefined>) | undefined {
    if (!keptServices(config).some(({ options }) => options.challenge === 'tls-alpn-01')) return undefined;
    return (domain) => this.#dependencies.store.get(challengeName({ type: 'tls-alpn-01', domain, token: '' }));
  }

  async stop(): Promise<void> {
    await this.#keeper.stop();
    for (const server of this.#servers.values()) await server.close();
    this.#servers.clear();
  }

  #sources(config: Config, key: string): ChallengeSources {
    const { store } = this.#dependencies;
    const served = keptServices(config).filter(({ options, service }) => options.challenge === 'http-01' && addressKey(service) === key);
    // In a Map, the last entry of a name wins. So the order is reversed, and the first service with the name is used.
    const origins = new Map(
      served
        .toReversed()
        .flatMap(({ options, service }) => options.domains.map((domain) => [domain, domainOrigin(domain, service)] as const)),
    );
    return {
      find: (token) => store.get(challengeName({ type: 'http-01', domain: '', token })),
      originOf: (domain) => origins.get(domain),
    };
  }
}

/**
 * Returns the origin under which browsers reach a domain. A proxy can listen at another port than the service, so `accepted_origins` is
 * used first.
 */
function domainOrigin(domain: string, { accepted_origins, port }: TlsServiceOptions): string {
  const known = accepted_origins.find((origin) => origin.startsWith('https:') && new URL(origin).hostname === domain);
  return known ?? new URL(`https://${domain}:${port}`).origin;
}

function addressKey({ address, tls }: TlsServiceOptions): string {
  return authority(address, tls.acme?.http_port ?? 0);
}

function challengeAddresses(config: Config): Map<string, { address: string; port: number }> {
  const asked = keptServices(config).filter(({ options }) => options.challenge === 'http-01');
  return new Map(
    asked.map(({ service, options }) => [addressKey(service), { address: service.address, port: options.http_port }] as const),
  );
}
