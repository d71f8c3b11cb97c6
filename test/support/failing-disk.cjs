// Loaded before svc (NODE_OPTIONS=--require). Makes calls to the file system fail. FAILING_DISK is the path of a control file. If it has a
// line `FUNCTION PART`, calls of the function fail with EIO if the path, or the path of the descriptor, contains PART (`$` in PART stands
// for the end of the path). With a line `stall FUNCTION PART`, such a call creates FAILING_DISK.stalled, and then the whole process sleeps
// until the line or the control file is removed.
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');

const { lstatSync, readFileSync, readlinkSync, writeFileSync } = fs;
const functions = [
  ...[
    'fchmodSync',
    'fdatasync',
    'fdatasyncSync',
    'fstatSync',
    'fsync',
    'ftruncateSync',
    'linkSync',
    'lstatSync',
    'openSync',
    'read',
    'renameSync',
  ],
  ...['unlinkSync', 'writeSync', 'writev', 'writevSync'],
];

function pathOf(target) {
  if (typeof target === 'number') return readlinkSync(`/proc/self/fd/${target}`);
  const text = String(target);
  const [, fd, rest] = /^\/proc\/self\/fd\/(\d+)(.*)$/.exec(text) ?? [];
  return fd === undefined ? text : readlinkSync(`/proc/self/fd/${fd}`) + rest;
}

// The test may remove the control file at any moment, also between two calls.
function controlLines() {
  const control = process.env.FAILING_DISK;
  try {
    return lstatSync(control, { throwIfNoEntry: false }) ? readFileSync(control, 'utf8').split('\n') : [];
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

function isTold(told, target) {
  return controlLines().some((line) => line.startsWith(`${told} `) && `${pathOf(target)}$`.includes(line.slice(told.length + 1)));
}

function fails(name, target) {
  if (target === process.env.FAILING_DISK) return false;
  if (isTold(`stall ${name}`, target)) {
    writeFileSync(`${process.env.FAILING_DISK}.stalled`, '');
    while (isTold(`stall ${name}`, target)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  return isTold(name, target);
}

function fault(name) {
  return Object.assign(new Error(`EIO: i/o error, ${name}`), { code: 'EIO', errno: -5, syscall: name });
}

for (const name of functions) {
  const call = fs[name];
  fs[name] = (target, ...rest) => {
    if (!fails(name, target)) return call(target, ...rest);
    if (name.endsWith('Sync')) throw fault(name);
    setImmediate(rest.at(-1), fault(name));
  };
  // Functions with several results have a custom promisified form, which is a property.
  Object.defineProperties(fs[name], Object.getOwnPropertyDescriptors(call));
}

const { native } = fs.realpathSync;
fs.realpathSync.native = (path, ...rest) => {
  if (fails('realpathSync', path)) throw fault('realpath');
  return native(path, ...rest);
};

for (const name of ['open', 'unlink']) {
  const call = fs.promises[name];
  fs.promises[name] = async (path, ...rest) => {
    if (fails(name, path)) throw fault(name);
    return call(path, ...rest);
  };
}

syncBuiltinESMExports();
