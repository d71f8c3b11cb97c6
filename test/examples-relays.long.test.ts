import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ServiceEvent } from '../src/events/event.ts';
import { runProgram } from './support/program.ts';
import { until } from './support/receiver.ts';
import { freePort, isFree } from './support/redis.ts';
import { hasPackage, hasProgram } from './support/requires.ts';
import { learnSecret } from './support/secrets.ts';
import { startServer, type TestServer } from './support/server.ts';
import { temporaryFolder } from './support/temp.ts';

const examples = join(process.env.SVC_ROOT ?? process.cwd(), 'examples/relays');
// Debian's Python, which has the libraries of Debian's packages.
const python = '/usr/bin/python3';

/** Starts a process and collects its output. Its whole process group ends with the test. */
function begin(t: TestContext, command: string, args: string[], env: NodeJS.ProcessEnv, cwd?: string) {
  const child = spawn(command, args, { env: { PATH: process.env.PATH, ...env }, cwd, detached: true });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      text += chunk;
    });
  const ended = once(child, 'close');
  t.after(() => end({ child, ended }));
  return { child, ended, printed: () => text };
}

async function end({ child, ended }: { child: ChildProcess; ended: Promise<unknown> }, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), signal);
  await ended;
}

const key = randomBytes(24);
const secret = `whsec_${key.toString('base64')}`;
learnSecret(secret, 'the secret of the relays');

async function startRelay(t: TestContext, name: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const relay = begin(t, python, [join(examples, name), '0', ...args], { HOOK_SECRET: secret, PYTHONDONTWRITEBYTECODE: '1', ...env });
  await until(`${name} listens`, () => {
    assert.equal(relay.child.exitCode, null, relay.printed());
    return /http:\S+/.test(relay.printed());
  });
  return { url: /http:\S+/.exec(relay.printed())?.[0] ?? '', printed: relay.printed };
}

const handlerOf = (url: string) => ({ type: 'http', target: '40017', url, signing_secret: secret, batch_size: 5, retry_for: '1h' });

/** Sends events as svc does. */
async function send(url: string, events: unknown[], signingKey = key): Promise<[number, string]> {
  const body = JSON.stringify({ events });
  const at = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', signingKey).update(`msg.${at}.${body}`).digest('base64');
  const headers = { 'webhook-id': 'msg', 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` };
  const reply = await fetch(url, { method: 'POST', headers, body });
  return [reply.status, await reply.text()];
}

const uploaded = async (server: TestServer) => (await server.events()).filter(({ id }) => id === '40017');

/** Sends one request to NATS over its text protocol. @returns the reply */
async function askNats(port: number, subject: string, body: unknown): Promise<Record<string, unknown>> {
  const socket = connect(port, '127.0.0.1');
  const text = JSON.stringify(body);
  socket.write(`CONNECT {"verbose":false}\r\nSUB answer 1\r\nPUB ${subject} answer ${Buffer.byteLength(text)}\r\n${text}\r\n`);
  let received = '';
  try {
    for await (const chunk of socket) {
      received += chunk;
      const [, length, rest = ''] = /MSG answer 1 (\d+)\r\n([\s\S]*)/.exec(received) ?? [];
      if (length !== undefined && Buffer.byteLength(rest) >= Number(length) + 2) return JSON.parse(rest.slice(0, -2));
    }
    throw new Error(`NATS said: ${received}`);
  } finally {
    socket.destroy();
  }
}

async function startNats(t: TestContext, port: number, folder: string) {
  const broker = begin(t, 'nats-server', ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder], {});
  await until('nats-server listens', async () => {
    assert.equal(broker.child.exitCode, null, broker.printed());
    return /Server is ready/.test(broker.printed()) && !(await isFree(port));
  });
  return broker;
}

test('the relay to NATS: each event is once in the stream, in order, even if the broker was killed meanwhile', async (t) => {
  if (!hasProgram(t, 'nats-server')) return;
  const port = await freePort();
  const folder = temporaryFolder(t);
  const broker = await startNats(t, port, folder);
  const { url, printed } = await startRelay(t, 'nats_relay.py', [`127.0.0.1:${port}`]);
  const event = { uuid: randomUUID(), id: '40017', data: { path: '/a' } };
  assert.match((await send(url, [event]))[1], /^not stored: no stream keeps svc\.events\.>$/);
  const made = await askNats(port, '$JS.API.STREAM.CREATE.EVENTS', { name: 'EVENTS', subjects: ['svc.events.>'], storage: 'file' });
  assert.equal(made.error, undefined, JSON.stringify(made));
  assert.deepEqual(await send(url, [event, { ...event, uuid: randomUUID() }]), [200, '{"offsets": [1, 2]}']);
  assert.deepEqual(await send(url, [event]), [200, '{"offsets": [1]}'], 'a repeated event keeps the position of the first one');
  assert.equal((await send(url, [event], randomBytes(24)))[0], 401);

  const server = await startServer(t, { event_handlers: { nats: handlerOf(url) } });
  await server.put('/home/%C3%A4.txt', 'x');
  await until('the event is stored', () => /"offsets": \[3\]/.test(printed()));
  await end(broker, 'SIGKILL');
  for (const name of ['b', 'c', 'd']) assert.equal((await server.put(`/home/${name}.txt`, 'x')).status, 201);
  await until('the relay has failed, because the broker is away', () => /^500 not stored/m.test(printed()));
  await startNats(t, port, folder);
  const told = await uploaded(server);
  const read = async (seq: number) => {
    const { message } = (await askNats(port, '$JS.API.STREAM.MSG.GET.EVENTS', { seq })) as { message?: { subject: string; data: string } };
    return message && [message.subject, JSON.parse(Buffer.from(message.data, 'base64').toString('utf8'))];
  };
  await until('all events are stored', async () => (await read(6)) !== undefined);
  for (const [index, expected] of told.entries())
    assert.deepEqual(await read(index + 3), ['svc.events.40017', JSON.parse(JSON.stringify(expected)) as ServiceEvent]);
  assert.equal(await read(7), undefined);
});

test('the relay to AMQP: RabbitMQ confirms messages, and a message that no queue accepts is a failure', async (t) => {
  if (!hasProgram(t, 'rabbitmqctl') || !hasPackage(t, 'python3-pika', '/usr/lib/python3/dist-packages/pika')) return;
  const folder = temporaryFolder(t);
  const [port, distribution, epmd] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(folder, 'plugins'), '[].');
  const names = { ERL_EPMD_PORT: String(epmd), ERL_EPMD_ADDRESS: '127.0.0.1' };
  const env = {
    ...names,
    HOME: folder,
    RABBITMQ_NODENAME: `svc${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(folder, 'db'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
  };
  // The script in /usr/sbin would switch to the account of Debian's service.
  const broker = begin(t, '/usr/lib/rabbitmq/bin/rabbitmq-server', [], env);
  try {
    await assertRelayed(t, broker, { folder, port });
  } finally {
    await end(broker);
    // Erlang's port mapper outlives the broker.
    await runProgram('epmd', ['-kill'], { cwd: '/', env: names });
  }
});

async function assertRelayed(t: TestContext, broker: ReturnType<typeof begin>, { folder, port }: { folder: string; port: number }) {
  const hasStarted = () => broker.child.exitCode !== null || /Server startup complete/.test(broker.printed());
  // Erlang starts slowly on a busy machine.
  for (let tries = 0; tries < 3 && !hasStarted(); tries++) await until('RabbitMQ has started', hasStarted).catch(() => {});
  assert.match(broker.printed(), /Server startup complete/);
  const brokerUrl = `amqp://guest:guest@127.0.0.1:${port}/`;
  const { url, printed } = await startRelay(t, 'amqp_relay.py', [brokerUrl]);
  const event = { uuid: randomUUID(), id: '40017', data: { path: '/a' } };
  assert.deepEqual(await send(url, [event]), [500, 'not stored: no queue is bound to svc.events for this event']);
  const ask = async (code: string) => {
    const script = `import pika, sys, time\nchannel = pika.BlockingConnection(pika.URLParameters(sys.argv[1])).channel()\n${code}`;
    const asked = await runProgram(python, ['-c', script, brokerUrl], { cwd: folder });
    assert.equal(asked.code, 0, asked.output);
    return asked.output;
  };
  await ask("channel.queue_declare('all', durable=True); channel.queue_bind('all', 'svc.events', '#')");
  const server = await startServer(t, { event_handlers: { amqp: handlerOf(url) } });
  for (const name of ['a', 'b']) await server.put(`/home/${name}.txt`, 'x');
  const take = `
while channel.queue_declare('all', passive=True).method.message_count < 2: time.sleep(0.05)
for _ in range(2):
    method, about, body = channel.basic_get('all', True)
    print(method.routing_key, about.message_id, about.delivery_mode, body.decode())`;
  const lines = (await ask(take)).trim().split('\n');
  const told = await uploaded(server);
  assert.deepEqual(
    lines.map((line) => line.split(' ').slice(0, 3)),
    told.map(({ uuid }) => ['40017', uuid, '2']),
  );
  assert.deepEqual(JSON.parse(String(lines[0]).split(' ').slice(3).join(' ')), JSON.parse(JSON.stringify(told[0])));
  assert.match(printed(), /^200 \{"offsets": \[1/m);
}

/** A stub of python3-kafka, because Debian has no broker. It stores messages in a file, and fails while the file `away` exists. */
const kafkaStub = `
import os
from .errors import KafkaError
FOLDER = os.path.dirname(os.path.dirname(__file__))
class Future:
    def __init__(self, offset): self.partition, self.offset = 0, offset
    def get(self, timeout):
        if self.offset is None: raise KafkaError('away')
        return self
class KafkaProducer:
    def __init__(self, **options):
        assert options['acks'] == 'all' and options['max_in_flight_requests_per_connection'] == 1
    def send(self, topic, value, key):
        if os.path.exists(FOLDER + '/away'): return Future(None)
        with open(FOLDER + '/messages', 'ab+') as messages:
            messages.seek(0)
            offset = len(messages.readlines())
            messages.write(b' '.join([topic.encode(), key, value]) + b'\\n')
        return Future(offset)
    def flush(self, timeout): pass
`;

test('the relay to Kafka: the key is the path, the reply has the offsets, and an absent broker is a failure', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'kafka'));
  writeFileSync(join(folder, 'kafka/__init__.py'), kafkaStub);
  writeFileSync(join(folder, 'kafka/errors.py'), 'class KafkaError(Exception): pass\n');
  const { url } = await startRelay(t, 'kafka_relay.py', ['127.0.0.1:9', 'files'], { PYTHONPATH: folder });
  const event = { uuid: randomUUID(), id: '40017', data: { path: '/a' } };
  assert.deepEqual(await send(url, [event, event]), [200, '{"offsets": ["0:0", "0:1"]}']);
  assert.equal(
    readFileSync(join(folder, 'messages'), 'utf8').split('\n')[0],
    `files /a ${JSON.stringify(event)
      .replace(/([:,])"/g, '$1 "')
      .replace('"data":{', '"data": {')}`,
  );
  writeFileSync(join(folder, 'away'), '');
  assert.equal((await send(url, [event]))[0], 500);
});
