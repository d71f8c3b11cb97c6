// Loaded into the supervisor and the nodes by --require. Makes them send hostile messages, which must have no effect, before each of their
// messages to each other.
const childProcess = require('node:child_process');

const long = 'x'.repeat(1_000_000);
const unasked = 2 ** 40;
const hostileMessages = [
  null,
  7,
  long,
  [],
  {},
  ['ask'],
  ['ask', 1, 'constructor', undefined],
  ['ask', 1, '__proto__', undefined],
  ['ask', 1, 'format', undefined],
  ['ask', 1, long, undefined],
  ['ask', '1', 'reload', undefined],
  ['ask', 1.5, 'figures', undefined],
  ['ask', 1, 'kill', []],
  ['done', unasked, true],
  ['done', null, true],
  ['failed', unasked, { code: 'unavailable', message: 'x' }],
  ['failed', unasked, { code: 'constructor', message: long }],
  ['failed', 1, null],
  ['ended', 1, 'exit code 0'],
];
module.exports = { hostileMessages };

/** Makes a process send the hostile messages before each of its own messages, which are arrays. Messages of node:cluster are objects. */
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
