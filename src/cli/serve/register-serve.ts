import { Option } from 'commander';
import { logLevels } from '../../lib/log.ts';
import { portNumber, type Register, secondsNumber, workerCount } from '../arguments.ts';

const serveHelp = `
Without a configuration file one http service on 127.0.0.1:8080 serves --root (default ./files) to one account.

With --workers 2 and more this process starts so many nodes of the configuration on the same addresses, which share Redis (server.state), and looks after them; 1 is one process for everything.

Signals: SIGTERM and SIGINT stop after running transfers (a second one at once), SIGHUP reloads the configuration.

Exit codes: 0 drained and stopped, 1 configuration not valid, 2 wrong use, 3 could not run (port in use, data folder not writable, no node can be started), 70 a fault of the program ended it, with the journal flushed (see the log, and have it started again), 130 and 143 a signal ended it before all transfers were done.

Examples:
  svc serve
  svc serve --root /srv/files --port 9000 --user alice:secret-words
  svc serve --config /etc/svc/svc.config.yaml --log-format json
  svc serve --workers auto`;

const reloadHelp = `
The service reads its configuration again, all or nothing: sessions, transfers and positions of handlers survive, and with an error in it the old configuration stays. Those end whose account is gone or disabled, or has another password or key; others have the rights and limits of the new configuration at their next request. Listeners are opened anew only when their address changes. Renewed TLS files need no reload. The service is found through its data folder.

Exit codes: 0 reloaded, 1 refused (the findings are printed), 2 wrong use, 3 no service runs, or it did not answer.

Examples:
  svc reload
  svc validate --strict && svc reload
  svc reload --data-folder /var/lib/svc --json`;

/** `svc serve` and `svc reload`. */
export const registerServe: Register = (program, run) => {
  program
    .command('serve')
    .description('start the services, authentication methods and event handlers of the configuration')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml and the like in this folder)')
    .option('--root <folder>', 'without a configuration: the folder to serve', undefined)
    .option('--user <name:password>', 'without a configuration: the account (default: admin with a random password, or SVC_PASSWORD)')
    .option('--address <address>', 'without a configuration: address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'without a configuration: port to listen on (default: 8080)', portNumber)
    .option('--ssh [port]', 'without a configuration: serve SFTP, too (default port: 2222)', portNumber)
    .option('--console [port]', 'without a configuration: the console on 127.0.0.1, with a login link (default port: 9101)', portNumber)
    .option('--workers <number>', 'nodes that answer requests, with server.state redis; auto = one a core (default: 1)', workerCount)
    .addOption(new Option('--log-level <level>', 'least important messages to log').choices(logLevels).env('SVC_LOG_LEVEL'))
    .addOption(new Option('--log-format <format>', 'form of a log line').choices(['pretty', 'json']).env('SVC_LOG_FORMAT'))
    .addHelpText('after', serveHelp)
    .action((options) => run(async () => (await import('./serve.ts')).serve(options)));
  program.command('__node', { hidden: true }).action(() => run(async () => (await import('./node.ts')).node()));
  program
    .command('reload')
    .description('make the running service read its configuration again')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml and the like in this folder)')
    .option('--data-folder <folder>', 'data folder of the service (default: that of the configuration)')
    .option('--timeout <seconds>', 'longest wait for the service to answer', secondsNumber, 60)
    .option('--json', 'print one JSON document')
    .addHelpText('after', reloadHelp)
    .action((options) => run(async () => (await import('./reload.ts')).reload(options)));
};
