import { eventIds } from '../events/event-ids.ts';
import { collect, positiveNumber, type Register } from './arguments.ts';
import { addSelection } from './journal/event-selection.ts';

const replayHelp = `
Without FILE the events of the journal are sent. FILE has one event a line, or request bodies ({"events": […]}); - is stdin.
Each handler gets what its filters want (--force: everything), rendered as the configuration says today.
An event without uuid gets one made from its content, the same each time. A malformed line is reported and skipped, and the run fails.

Exit codes:
  0  all delivered (or nothing to send)   1  a delivery failed, a line was malformed, or --diff
                                           found differences
  2  wrong use, or FILE not readable      130, 143  ended by a signal

Examples:
  svc webhook-replay --since 2h --handler crm
  svc webhook-replay --failed --since 7d --dry-run
  svc webhook-replay --uuid 1f0e… --url http://127.0.0.1:9000/
  svc webhook-replay recorded.ndjson --handler crm --json
  svc webhook-replay --since 1d --diff`;

const eventsHelp = `
Off a terminal the columns are separated by tabs: time, ID, account, address, message; with --deliveries: time, handler,
outcome, event IDs, first event's UUID, URL, status, attempts, source, details.

Examples:
  svc events --follow
  svc events --id ${eventIds.fileUploaded},${eventIds.uploadFailed} --since 1d --json
  svc events --deliveries --failed --handler crm
  svc events --catalogue`;

const forwardHelp = `
What the node wrote while Redis was away stands in its data folder. It comes into the shared journal once, in order, and living nodes deliver it.

Exit codes:
  0  all is in Redis   2  wrong use   3  a service uses the folder, or Redis is away (again later)

Example:
  svc events forward --config svc.config.yaml --data-folder /mnt/node3/svc`;

/** `svc webhook-replay` and `svc events`. */
export const registerEvents: Register = (program, run) => {
  const replay = program
    .command('webhook-replay')
    .description('send events again')
    .argument('[file]', 'file of events, or - for stdin (default: the journal)')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder with the journal (default: that of the configuration)');
  addSelection(replay)
    .option('--handler <uuid>', 'send to this event handler; repeatable (default: every handler whose filters match)', collect, [])
    .option('--url <url>', 'send to this URL; with --handler in the format of that handler')
    .option('--force', 'send also what the filters of a handler leave out')
    .option('--dry-run', 'print each request and send nothing')
    .option('--exact', 'send what the journal recorded, byte for byte, with the same IDs')
    .option('--diff', 'print what the configuration would send differently today, and send nothing')
    .option('--skip-malformed', 'do not fail because of malformed lines')
    .option('--strict', 'end the run at the first malformed line')
    .option('--concurrency <number>', "maximum requests at once to a handler (default: the handler's own)", positiveNumber)
    .option('--json', 'print one JSON object a delivery')
    .addHelpText('after', replayHelp)
    .action((file, options) => run(async () => (await import('./journal/webhook-replay.ts')).webhookReplay(file, options)));
  const events = program
    .command('events')
    .description('print the journal')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder with the journal (default: that of the configuration)')
    .option('-f, --follow', 'go on with the events to come')
    .option('--deliveries', 'print the deliveries to event handlers instead')
    .option('--handler <uuid>', 'with --deliveries: those of this handler; repeatable', collect, [])
    .option('--catalogue', 'print all kinds of events');
  addSelection(events)
    .option('--json', 'print one JSON object a line, as in the journal')
    .addHelpText('after', eventsHelp)
    .action((options) => run(async () => (await import('./journal/events.ts')).events(options)));
  events
    .command('forward')
    .description("hand a dead node's events to Redis without starting the node")
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', "the node's data folder; needed")
    .option('--json', 'print one JSON object')
    .addHelpText('after', forwardHelp)
    // Options of this name are those of "events" wherever they stand.
    .action((_, command) => run(async () => (await import('./journal/forward.ts')).forwardEvents(command.optsWithGlobals())));
};
