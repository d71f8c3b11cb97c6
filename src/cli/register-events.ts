import { type Command, Option } from 'commander';
import { eventIds } from '../events/event-ids.ts';
import { collect, positiveNumber, type Register } from './arguments.ts';
import { addSelection, pointInTime } from './journal/event-selection.ts';

const replayHelp = `
Without FILE, the command sends events of the journal. FILE has one event per line, or saved request bodies ({"events": […]}).

Each handler gets the events that pass its filters; with --force, it gets all events. The requests are rendered with the current configuration. For an event without a uuid, the command computes one from the content, so the uuid is the same each time. A malformed line is reported and skipped, and the exit code is 1.

Exit codes:
  0         all delivered, or nothing to send
  1         a delivery failed, a line was malformed, or --diff found differences
  2         wrong use, or FILE cannot be read
  130, 143  ended by a signal

Examples:
  svc webhook-replay --since 2h --handler crm
  svc webhook-replay --failed --since 7d --dry-run
  svc webhook-replay --uuid 1f0e… --url http://127.0.0.1:9000/
  svc webhook-replay recorded.ndjson --handler crm --json
  svc webhook-replay --since 1d --diff`;

const eventsHelp = `
The columns are time, ID, account, address and message. With --deliveries they are time, handler, outcome, event IDs, UUID of the first event, URL, status, attempts, source and details. If stdout is not a terminal, the columns are separated by tabs.

Examples:
  svc events --follow
  svc events --id ${eventIds.fileUploaded},${eventIds.uploadFailed} --since 1d --json
  svc events --deliveries --failed --handler crm
  svc events --catalogue`;

const forwardHelp = `
While Redis cannot be reached, a node keeps its events in its own data folder. This command forwards them to the shared journal, once and in order. The other nodes then deliver them.

Exit codes: 0 all events are in Redis, 2 wrong use, 3 a service uses the folder or Redis cannot be reached (try again later).

Example:
  svc events forward --config svc.config.yaml --data-folder /mnt/node3/svc`;

const verifyHelp = `
FOLDER is the folder of a journal, or an export of "svc journal export"; default: the journal in the data folder.

Exit codes:
  0  whole   2  wrong use   3  something does not match; the first mismatch is printed
  4  undecided: the oldest events have no checkpoint, or the newest have none yet

Examples:
  svc journal verify
  svc journal verify /backup/svc-data/journal --public-key journal.pem --witness checkpoints.ndjson`;

const exportHelp = `
The folder gets events.ndjson or events.csv, checkpoints.ndjson, public-key.pem and export.json. export.json is signed with the key of the journal.
"svc journal verify FOLDER" can check the export on any machine.

Example:
  svc journal export --since 7d --account acme --format csv --out /tmp/acme`;

const receiptHelp = `
EVENT-ID is the value of the header Event-Id in the reply to an upload. FOLDER is the folder of a journal, or of an export in the format ndjson.
Exit codes: 0 the event is there, and signed checkpoints cover it; 3 the event is not there, or something does not match;
4 no checkpoint covers the event yet (a running service writes one each minute).

Examples:
  svc receipt 0198f2c4-5a3e-7c11-9d7e-2f4b8a1c6d50
  svc receipt 0198f2c4-5a3e-7c11-9d7e-2f4b8a1c6d50 /tmp/acme --public-key journal.pem`;

const journalHelp = `
Examples:
  svc journal verify
  svc journal export --since 7d --account acme --out /tmp/acme`;

const keyHelp = `
The next checkpoint names the new key, and is still signed with the old key. All later checkpoints are signed with the new key. A running service writes the next checkpoint within a minute; otherwise it is written when the service starts.

Examples:
  svc journal key show > journal.pem
  svc journal key rotate`;

const configOptions = (command: Command): Command =>
  command
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder with the journal (default: that of the configuration)');

/** Registers `svc journal`, whose commands verify and export the journal and manage its key (docs/spec/evidence.md). */
const registerJournal: Register = (program, run) => {
  const load = () => import('./journal/evidence.ts');
  const journal = program.command('journal').description('prove that nobody edited the journal').addHelpText('after', journalHelp);
  configOptions(
    journal.command('verify').description('check the journal against its signed checkpoints').argument('[folder]', 'folder to check'),
  )
    .option('--public-key <file>', 'PEM file of the key that must have signed the checkpoints (default: the key beside the journal)')
    .option('--witness <file>', 'file with checkpoints that were stored elsewhere, for example by a webhook receiver, one per line')
    .option(
      '--since <time>',
      'skip events whose checkpoint was signed before this time: ISO 8601, or how long ago: 15m, 2h, 7d',
      pointInTime,
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', verifyHelp)
    .action((folder, options) => run(async () => (await load()).verify(folder, options)));
  configOptions(
    program
      .command('receipt')
      .description('check that the journal has the event of an upload and was not edited')
      .argument('<event-id>', 'UUID of the event')
      .argument('[folder]', 'journal or export to search (default: the journal of the service)'),
  )
    .option('--public-key <file>', 'PEM file of the key that must have signed the checkpoints (default: the key beside the journal)')
    .option('--witness <file>', 'file with checkpoints that were stored elsewhere, for example by a webhook receiver, one per line')
    .option('--json', 'print one JSON object')
    .addHelpText('after', receiptHelp)
    .action((uuid, folder, options) => run(async () => (await load()).receipt(uuid, folder, options)));
  configOptions(journal.command('export').description('export events in a form that others can verify'))
    .requiredOption('--since <time>', 'only events from this time on: ISO 8601, or how long ago: 15m, 2h, 7d', pointInTime)
    .requiredOption('--out <folder>', 'new or empty folder')
    .option('--until <time>', 'only events before this time: ISO 8601, or how long ago: 15m, 2h, 7d', pointInTime)
    .option('--account <name>', 'only events of this account: name or UUID')
    .addOption(new Option('--format <format>', 'format of the events').choices(['ndjson', 'csv']).default('ndjson'))
    .option('--json', 'print one JSON object')
    .addHelpText('after', exportHelp)
    .action((options) => run(async () => (await load()).exportEvents(options)));
  const key = journal.command('key').description('show or replace the key that signs the checkpoints').addHelpText('after', keyHelp);
  configOptions(key.command('show').description('print the public key as PEM').addHelpText('after', keyHelp)).action((options) =>
    run(async () => (await load()).showKey(options)),
  );
  configOptions(
    key.command('rotate').description('create a new key; the next checkpoint announces it').addHelpText('after', keyHelp),
  ).action((options) => run(async () => (await load()).rotateKey(options)));
};

const expectationsHelp = `
The commands look up in the journal which files arrived; with Redis, in the shared journal. "excuse" and "expect-again" need the running service.

Exit codes of check:
  0  no files are late, missing or malformed   2  wrong use
  3  some files are late, missing or malformed

Examples:
  svc expectations check --since 30d
  svc expectations check --config new.yaml --json
  svc expectations history orders
  svc expectations excuse orders 2026-11-23T06:00:00+01:00 --reason "bank holiday"
  svc expectations expect-again orders 2026-11-23T06:00:00+01:00 --until 4h`;

/** Registers `svc expectations`, whose commands show which files are due (docs/spec/expectations.md). */
const registerExpectations: Register = (program, run) => {
  const load = () => import('./journal/expectations.ts');
  const command = program
    .command('expectations')
    .description('expected files: which arrived, and which did not')
    .addHelpText('after', expectationsHelp);
  const sub = (name: string, description: string) =>
    configOptions(command.command(name).description(description))
      .option('--json', 'print one JSON object')
      .addHelpText('after', expectationsHelp);
  sub('list', 'print the last and the next occurrence of each expectation').action((options) =>
    run(async () => (await load()).listExpectations(options)),
  );
  sub('check', 'check past occurrences against the journal')
    .option('--since <time>', 'only occurrences from this time on: ISO 8601, or how long ago: 15m, 2h, 7d (default: 30d)', pointInTime)
    .action((options) => run(async () => (await load()).checkExpectations(options)));
  sub('history', 'print the occurrences of one expectation')
    .argument('<uuid>', 'UUID of the expectation')
    .option('--since <time>', 'only occurrences from this time on: ISO 8601, or how long ago: 15m, 2h, 7d (default: 31d)', pointInTime)
    .action((uuid, options) => run(async () => (await load()).expectationHistory(uuid, options)));
  sub('excuse', 'record why a file is not needed')
    .argument('<uuid>', 'UUID of the expectation')
    .argument('<due>', 'due time, as "history" prints it')
    .requiredOption('--reason <text>', 'reason, which is recorded in the journal')
    .action((uuid, due, options) => run(async () => (await load()).excuseOccurrence(uuid, due, options)));
  sub('expect-again', 'expect a file once more; earlier files do not count')
    .argument('<uuid>', 'UUID of the expectation')
    .argument('<due>', 'due time, as "history" prints it')
    .requiredOption('--until <time>', 'time after which the file is late or missing: ISO 8601, or how long from now: 30m, 4h, 2d')
    .action((uuid, due, options) => run(async () => (await load()).expectAgain(uuid, due, options)));
};

/** Registers `svc webhook-replay`, `svc events`, `svc journal` and `svc expectations`. */
export const registerEvents: Register = (program, run) => {
  const replay = program
    .command('webhook-replay')
    .description('send events to their event handlers again')
    .argument('[file]', 'file of events, or - for stdin (default: the journal)')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder with the journal (default: that of the configuration)');
  addSelection(replay)
    .option('--handler <uuid>', 'send to this event handler; repeatable (default: every handler whose filters match)', collect, [])
    .option('--url <url>', 'send to this URL; with --handler: in the format of that handler')
    .option('--force', 'also send what the filters of a handler exclude')
    .option('--dry-run', 'send nothing; print each request')
    .option('--exact', 'send the recorded requests byte for byte, with the same IDs')
    .option('--diff', 'send nothing; print how the requests would differ from the recorded ones')
    .option('--skip-malformed', 'exit with 0 in spite of malformed lines')
    .option('--strict', 'stop at the first malformed line')
    .option('--concurrency <number>', 'concurrent requests per handler (default: its option concurrency)', positiveNumber)
    .option('--json', 'print one JSON object per delivery')
    .addHelpText('after', replayHelp)
    .action((file, options) => run(async () => (await import('./journal/webhook-replay.ts')).webhookReplay(file, options)));
  const events = program
    .command('events')
    .description('print the events of the journal')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder with the journal (default: that of the configuration)')
    .option('-f, --follow', 'keep running and print new events')
    .option('--deliveries', 'print the deliveries to event handlers instead of the events')
    .option('--handler <uuid>', 'with --deliveries: only the deliveries to this handler; repeatable', collect, [])
    .option('--catalogue', 'print all event IDs with their meanings');
  addSelection(events)
    .option('--json', 'print one JSON object per line, as in the journal')
    .addHelpText('after', eventsHelp)
    .action((options) => run(async () => (await import('./journal/events.ts')).events(options)));
  events
    .command('forward')
    .description("forward a dead node's events to Redis without starting the node")
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder of the dead node (required)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', forwardHelp)
    // If both commands have an option, Commander assigns it to "events", even after "forward". So the options of both are read.
    .action((_, command) => run(async () => (await import('./journal/forward.ts')).forwardEvents(command.optsWithGlobals())));
  registerJournal(program, run);
  registerExpectations(program, run);
};
