import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { hashPassword } from '../../accounts/passwords.ts';
import { isUserName } from '../../accounts/user-names.ts';
import { loadConfigFile } from '../../config/check.ts';
import { needsRedis } from '../../config/lint/lint-state.ts';
import { configFromObject, findConfigFile, type LoadedConfig } from '../../config/reading/load.ts';
import type { Finding } from '../../config/report-shapes.ts';
import { systemClock } from '../../lib/clock.ts';
import { makeFolders } from '../../lib/disk/durable-files.ts';
import { onOldFile } from '../../lib/disk/named-file.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { createLog, type Log, type LogFormat, type LogLevel } from '../../lib/log.ts';
import { Server } from '../../server/server.ts';
import type { Supervisor, SupervisorOptions } from '../../server/supervisor/supervisor.ts';
import { exitCode } from '../exit-codes.ts';
import { fileFault } from '../file-fault.ts';
import { complainFindings, findingText } from '../findings-output.ts';
import { complain, hasColour, paint, print } from '../output.ts';
import { endByFault } from './end-by-fault.ts';
import { dropPrivileges, giveFolder, prepareProcess } from './privileges.ts';

/** Options of `svc serve`. */
export interface ServeOptions {
  config?: string;
  root?: string;
  user?: string;
  address?: string;
  port?: number;
  /** Port of SFTP, or `true` for the default port. */
  ssh?: number | true;
  /** Port of the console, or `true` for the default port. */
  console?: number | true;
  workers?: number;
  logLevel?: LogLevel;
  logFormat?: LogFormat;
}

/** Runs the server until a signal stops it. @returns the exit code */
export async function serve(options: ServeOptions): Promise<number> {
  const file = await findConfigFile({ file: options.config, cwd: process.cwd(), env: process.env });
  const workers = options.workers ?? 1;
  if (!file && workers > 1) throw new ServiceError('bad-request', needsRedis(workers));
  if (!file) return serveFolder(options);
  refuseFolderOptions(options, file);
  const { loaded, warnings, text } = loadConfigFile(file, process.env, { isFolderShared: workers > 1 });
  if (warnings.length > 0) complainFindings(warnings, text);
  const log = makeLog(options, loaded);
  prepareProcess(loaded, process.env, log);
  const configFile = { path: file, env: process.env, textOf: (finding: Finding) => findingText(finding, [], process.stderr) };
  const dataFolderPath = loaded.config.server.data_folder_path;
  onOldFile((path) =>
    log.warn('a file that only root may read cannot be read again; the content that was read at the start is used', { path }),
  );
  const service =
    workers > 1
      ? await makeSupervisor(workers, options, { loaded, file: configFile, clock: systemClock, log })
      : new Server(loaded, { clock: systemClock, log, file: configFile });
  const afterStart = async () => {
    try {
      dropPrivileges(loaded.config.server, dataFolderPath, log);
    } catch (error) {
      await service.stop();
      throw error;
    }
  };
  return run(service, { log, afterStart });
}

/** Creates the supervisor of several nodes. @throws ServiceError `bad-request` if the configuration has no Redis that they can share */
async function makeSupervisor(
  nodes: number,
  options: ServeOptions,
  given: Pick<SupervisorOptions, 'loaded' | 'file' | 'clock' | 'log'>,
): Promise<Supervisor> {
  const { loaded } = given;
  const { server } = loaded.config;
  if (server.state.type !== 'redis') throw new ServiceError('bad-request', needsRedis(nodes));
  // Imported only here, so that a server without nodes starts faster.
  const [{ Supervisor }, { nodeForks }] = await Promise.all([import('../../server/supervisor/supervisor.ts'), import('./fork-nodes.ts')]);
  const prepareFolder = (path: string) => giveFolder(server, path);
  return new Supervisor({ ...given, nodes, fork: await nodeForks(), nodeLog: logOptions(options, loaded), prepareFolder });
}

function refuseFolderOptions(options: ServeOptions, file: string): void {
  for (const name of ['root', 'user', 'address', 'port', 'ssh', 'console'] as const) {
    if (options[name] !== undefined)
      throw new ServiceError('bad-request', `--${name} cannot be used together with the configuration ${file}; set it there.`);
  }
}

/** Runs `svc serve` without a configuration, for one folder and one account. */
async function serveFolder(options: ServeOptions): Promise<number> {
  const root = resolve(options.root ?? './files');
  let isNew: boolean;
  try {
    isNew = makeFolders(root);
  } catch (error) {
    throw new ServiceError('unavailable', `--root ${root}: ${fileFault('folder', error)}.`, { cause: error });
  }
  const { name, password, isGenerated } = readUser(options.user);
  const passwordHash = await hashPassword(password);
  const log = makeLog(options, undefined);
  for (let attempt = 1; ; attempt++) {
    const loaded = configFromObject(
      {
        server: { data_folder_path: attempt === 1 ? './svc-data' : `./svc-data-${attempt}` },
        groups: { DEFAULT_GROUP: { home_folder_path: root } },
        accounts: { [name]: { password: passwordHash } },
        services: folderServices(options),
      },
      process.cwd(),
    );
    prepareProcess(loaded, process.env, log);
    const service = new Server(loaded, { clock: systemClock, log });
    try {
      await service.start();
    } catch (error) {
      // Another process uses this data folder. Several `svc serve` can run in one folder, so try the next data folder.
      if (isServiceError(error, 'unavailable') && typeof error.details.pid === 'number' && attempt < 100) continue;
      throw error;
    }
    complain(`Folder: ${root}${isNew ? '   (created)' : ''}`);
    if (isGenerated) complain(`Account: ${name}   Password: ${password}`);
    const link = service.consoleLink(trialAdministrator);
    if (link !== undefined) complain(`Console: ${link}   (once, within five minutes)`);
    return run(service, { log, isStarted: true });
  }
}

function folderServices({ address = '127.0.0.1', port = 8080, ssh, console }: ServeOptions): Record<string, object> {
  const portOption = (given: number | true) => (given === true ? {} : { port: given });
  return {
    files: { type: 'http', name: 'Files', address, port },
    ...(ssh !== undefined && { sftp: { type: 'ssh', name: 'SFTP', address, ...portOption(ssh) } }),
    // `address` does not apply to the console. The console stays on loopback, because its login link uses plain HTTP.
    ...(console !== undefined && {
      console: { type: 'console', name: 'Console', administrators: trialAdministrators(), ...portOption(console) },
    }),
  };
}

/** The name of the administrator who signs in with the login link of `svc serve --console`. */
const trialAdministrator = 'operator';

/** Configures an administrator with a random password hash, so that no password works. */
function trialAdministrators() {
  const random = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '');
  return { [trialAdministrator]: { password: `$scrypt$ln=14,r=8,p=5$${random(16)}$${random(32)}`, role: 'operator' } };
}

function readUser(user: string | undefined): { name: string; password: string; isGenerated: boolean } {
  const colon = user?.indexOf(':') ?? -1;
  if (user !== undefined && colon < 0) throw new ServiceError('bad-request', '--user takes NAME:PASSWORD.');
  const name = user === undefined ? 'admin' : user.slice(0, colon);
  const given = user === undefined ? process.env.SVC_PASSWORD : user.slice(colon + 1);
  if (!isUserName(name))
    throw new ServiceError('bad-request', '--user: the name must have 1 to 150 characters, without control characters, "/" and "\\".');
  if (given === '' && user !== undefined) throw new ServiceError('bad-request', '--user: the password is empty.');
  return given
    ? { name, password: given, isGenerated: false }
    : { name, password: randomBytes(12).toString('base64url'), isGenerated: true };
}

function makeLog(options: ServeOptions, loaded: LoadedConfig | undefined): Log {
  return createLog({ ...logOptions(options, loaded), clock: systemClock, write: (line) => process.stderr.write(line) });
}

function logOptions(options: ServeOptions, loaded: LoadedConfig | undefined) {
  const configured = loaded?.config.server.log;
  return {
    level: options.logLevel ?? configured?.level ?? 'info',
    format: options.logFormat ?? configured?.format ?? (process.stderr.isTTY ? 'pretty' : 'json'),
    colour: hasColour(process.stderr),
  };
}

interface Dependencies {
  log: Log;
  isStarted?: boolean;
  /** Called after all addresses are bound. */
  afterStart?: () => Promise<void>;
}

/** After a second signal, the process has this time, in milliseconds, to record the cut transfers in the journal. */
const hurryMs = 2000;

async function run(service: Server | Supervisor, { log, afterStart, isStarted = false }: Dependencies): Promise<number> {
  endByFault(log, () => {
    if (service instanceof Server) service.flushNow();
  });
  let isStopping = false;
  let isHurrying = false;
  const stopped = new Promise<number>((done) => {
    const stop = (signal: 'SIGINT' | 'SIGTERM') => {
      const cutShort = signal === 'SIGINT' ? exitCode.interrupted : exitCode.terminated;
      if (isHurrying) process.exit(cutShort);
      if (isStopping) {
        isHurrying = true;
        service.hurry();
        systemClock.after(hurryMs, () => process.exit(cutShort));
        return;
      }
      isStopping = true;
      log.info('stopping', { signal });
      service.stop().then(
        (inTime) => done(inTime && !isHurrying ? exitCode.done : cutShort),
        (error) => {
          log.error('the stop failed', { reason: error });
          done(exitCode.cannotRun);
        },
      );
    };
    if (!(service instanceof Server))
      void service.givenUp.then((reason) => {
        if (isStopping) return;
        isStopping = true;
        log.error('no node can be started; the server ends', { reason });
        void service.stop().then(() => done(exitCode.cannotRun));
      });
    process.on('SIGINT', () => stop('SIGINT'));
    process.on('SIGTERM', () => stop('SIGTERM'));
  });
  process.on('SIGHUP', () => {
    service.reloadFile().catch((error) => log.error('the report of the reload cannot be written', { reason: error }));
  });
  if (!isStarted) {
    try {
      await service.start();
    } catch (error) {
      // A stop signal during the start makes the start fail, so this is not an error.
      if (!isStopping) throw error;
      return stopped;
    }
  }
  await afterStart?.();
  for (const { name, url } of service.listening()) print(`${paint(process.stdout, 'green', name)} listening on ${url}/`);
  const code = await stopped;
  // Set the code here as well. If stdout closes before the process ends, the EPIPE handler in main.ts exits with this code.
  process.exitCode = code;
  return code;
}
