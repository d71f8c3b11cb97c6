import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ServiceEvent } from '../../src/events/event.ts';
import { allTimestamps } from '../../src/events/timestamps.ts';
import { eventVariable, isKnownVariable } from '../../src/events/variables.ts';

const event: ServiceEvent = {
  id: '40017',
  uuid: 'e1',
  message: 'The file "/a" was uploaded.',
  timestamp: { timestamp: '1591402889.123500', cwa_14051: '2020-06-06 02:21:29' },
  data: {
    path: '/a',
    duration: 1.5,
    files: ['one', 'two'],
    metadata: { Label: ['x', 'y'], 'project.id': ['7'], project: { other: 'o' }, empty: '' },
    details: null,
    is_new: true,
  },
  account: { uuid: 'u', name: 'alice', peer: { address: '192.0.2.1', port: 4711, protocol: 'TCP', family: 'IPv4' } },
  component: { uuid: 'c', type: 'https', name: 'Files' },
  server: { uuid: 's', type: 'server', name: 'files.example.com' },
};

test('all variables have their value, in upper and lower case', () => {
  const expected: Record<string, string | undefined> = {
    id: '40017',
    uuid: 'e1',
    message: 'The file "/a" was uploaded.',
    'account.name': 'alice',
    'account.email': undefined,
    'account.peer.address': '192.0.2.1',
    'account.peer.port': '4711',
    'account.peer.protocol': 'TCP',
    'account.peer.family': 'IPv4',
    'account.uuid': 'u',
    'component.name': 'Files',
    'component.type': 'https',
    'component.uuid': 'c',
    'server.name': 'files.example.com',
    'server.uuid': 's',
    'data.path': '/a',
    data_json: JSON.stringify(event.data),
    'timestamp.timestamp': '1591402889.123500',
    'timestamp.iso_8601': '2020-06-06T00:21:29Z',
    'timestamp.iso_8601_fractional': '2020-06-06T00:21:29.123500000Z',
  };
  for (const [name, value] of Object.entries(expected)) {
    for (const spelling of [name, name.toUpperCase(), name.replace(/^./, (first) => first.toUpperCase())]) {
      assert.equal(eventVariable(event, spelling), value, spelling);
      assert.equal(isKnownVariable(spelling), true, spelling);
    }
  }
  for (const name of Object.keys(allTimestamps('0'))) {
    assert.equal(typeof eventVariable(event, `timestamp.${name}`), 'string', name);
    assert.equal(isKnownVariable(`Timestamp.${name}`), true, name);
  }
  const withEmail = { ...event, account: { ...event.account, email: 'a@example.com' } };
  assert.equal(eventVariable(withEmail, 'account.email'), 'a@example.com');
  assert.equal(eventVariable(event, 'timestamp.cwa_14051'), '2020-06-06 02:21:29', 'the value that the writing server recorded');
});

test('variables of data select members of objects by name and of lists by index; a list is rendered as JSON', () => {
  const cases: [string, string | undefined][] = [
    ['data.files.0', 'one'],
    ['data.files.2', undefined],
    ['data.files.length', undefined],
    ['data.files', '["one","two"]'],
    ['data.metadata.label.1', 'y'],
    ['data.METADATA.Label', '["x","y"]'],
    ['data.metadata.project.id.0', '7'],
    ['data.metadata.project.other', 'o'],
    ['data.metadata.empty', ''],
    ['data.duration', '1.5'],
    ['data.is_new', 'true'],
    ['data.details', ''],
    ['data.details.more', undefined],
    ['data.path.0', undefined],
    ['data.', undefined],
    ['data', undefined],
    ['data..path', undefined],
    ['data.constructor', undefined],
    ['data.__proto__.x', undefined],
    ['constructor', undefined],
    ['timestamp.constructor', undefined],
    ['account', undefined],
    ['', undefined],
  ];
  for (const [name, value] of cases) assert.equal(eventVariable(event, name), value, name);
});

test('variables that no event can have are unknown', () => {
  for (const name of [
    '',
    'ids',
    'data',
    'data.',
    'data.pth',
    'account',
    'account.password',
    'timestamp',
    'timestamp.year',
    'server.type',
    'toString',
  ])
    assert.equal(isKnownVariable(name), false, name);
  for (const name of ['data.metadata.anything.at.all', 'data.Real_Path', 'data.response.code', 'data.files.3'])
    assert.equal(isKnownVariable(name), true, name);
});

test('any name on any data gives a text or nothing, and never throws', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (data, path) => {
      const value = eventVariable({ ...event, data: data as Record<string, unknown> }, `data.${path}`);
      assert.ok(value === undefined || typeof value === 'string');
      const own = Object.keys(data).find((key) => key.toLowerCase() === path.toLowerCase());
      if (own !== undefined && path !== '') assert.notEqual(value, undefined);
    }),
  );
});
