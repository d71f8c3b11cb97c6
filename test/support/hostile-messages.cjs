// Loaded into supervisor and nodes by --require: before each message between them goes every message that must change nothing.
const childProcess = require('node:child_process');

const long = 'x'.repeat(1_000_000);
const unasked = 2 ** 40;
const hostileMessages = [
  null,
  7,
  long,
  [],
  {},
  ['call'],
  ['call', 1, 'constructor', []],
  ['call', 1, '__proto__', []],
  ['call', 1, 'format', []],
  ['call', 1, long, []],
  ['call', '1', 'reload', []],
  ['call', 1, 'reload', null],
  ['call', 1, 'reload', [long]],
  ['call', 1, 'accountsWritten', [1]],
  ['call', 1, 'figures', [null]],
  ['call', 1, 'figures', [[{ name: 'x', help: '', type: 'counter', aggregator: 'constructor', values: [] }]]],
  ['call', 1, 'start', [{ number: 1 }]],
  ['call', 1, 'prepare', [{ config: { server: 1 }, file: long }]],
  ['call', 1, 'commit', [true]],
  ['call', 1, 'renewTickets', ['secret']],
  ['call', 1, 'hurry', [1]],
  ['call', 1, 'stop', ['now']],
  ['done', unasked, true],
  ['done', null, true],
  ['failed', unasked, { code: 'unavailable', message: long }],
  ['failed', 1, null],
  ['ended', 1, 'exit code 0'],
];
module.exports = { hostileMessages };

/** Has a process send them beside its own; messages of node:cluster are objects. */
function precede(sender) {
  const send = sender.send.bind(sender);
  sender.send = (message, ...rest) => {
    if (Array.isArray(message)) for (const hostile of hostileMessages) send(hostile);
    return send(message, ...rest);
  };
  return sender;
}

if (process.env.SVC_TEST_HOSTILE === '1') {
  if (process.argv.includes('__node')) precede(process);
  const { fork } = childProcess;
  childProcess.fork = (...given) => precede(fork(...given));
}
